import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createAdmission } from './admission.ts'

describe('createAdmission', () => {
  test('lets a burst in, then the rate', () => {
    const admission = createAdmission({ perSecond: 10, burst: 3, handshakes: 100 })
    expect([0, 0, 0, 0].map((at) => admission.enter(at))).toEqual([true, true, true, false])
    expect(admission.enter(99)).toBe(false)
    expect(admission.enter(200)).toBe(true)
  })

  test('bounds the handshakes under way', () => {
    const admission = createAdmission({ perSecond: 1000, burst: 1000, handshakes: 2 })
    expect([admission.enter(0), admission.enter(0), admission.enter(0)]).toEqual([true, true, false])
    admission.leave()
    expect(admission.enter(0)).toBe(true)
  })

  test('never lets in more than burst and rate allow, whatever the clock does', () => {
    const times = fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(times, (ats) => {
        const admission = createAdmission({ perSecond: 20, burst: 5, handshakes: 1000 })
        const entered = ats.filter((at) => admission.enter(at)).length
        const forwardMs = ats.reduce((sum, at, i) => sum + Math.max(0, at - (ats[i - 1] ?? at)), 0)
        expect(entered).toBeLessThanOrEqual(5 + (forwardMs * 20) / 1000)
      }),
    )
  })
})
