import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createAdmission } from './admission.ts'

describe('createAdmission', () => {
  test('lets a burst in, then the rate', () => {
    const admission = createAdmission({ perSecond: 10, burst: 3, handshakes: 100, handshakesPerAddress: 100 })
    expect([0, 0, 0, 0].map((at) => admission.enter('a', at))).toEqual([true, true, true, false])
    expect(admission.enter('a', 99)).toBe(false)
    expect(admission.enter('a', 200)).toBe(true)
  })

  test('bounds the handshakes under way', () => {
    const admission = createAdmission({ perSecond: 1000, burst: 1000, handshakes: 2, handshakesPerAddress: 2 })
    expect([admission.enter('a', 0), admission.enter('a', 0), admission.enter('a', 0)]).toEqual([true, true, false])
    admission.leave('a')
    expect(admission.enter('a', 0)).toBe(true)
  })

  test('leaves places to others when one address takes all that it may', () => {
    const admission = createAdmission({ perSecond: 1000, burst: 1000, handshakes: 3, handshakesPerAddress: 2 })
    const enter = (address: string): boolean => admission.enter(address, 0)
    expect(['a', 'a', 'a', 'b', 'b'].map(enter)).toEqual([true, true, false, true, false])
    admission.leave('a')
    expect(['b', 'a'].map(enter)).toEqual([true, false])
    admission.leave('a')
    admission.leave('b')
    expect(['a', 'a', 'a'].map(enter)).toEqual([true, true, false])
  })

  test('never lets in more than burst and rate allow, whatever the clock does', () => {
    const times = fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(times, (ats) => {
        const admission = createAdmission({ perSecond: 20, burst: 5, handshakes: 1000, handshakesPerAddress: 1000 })
        const entered = ats.filter((at) => admission.enter('a', at)).length
        const forwardMs = ats.reduce((sum, at, i) => sum + Math.max(0, at - (ats[i - 1] ?? at)), 0)
        expect(entered).toBeLessThanOrEqual(5 + (forwardMs * 20) / 1000)
      }),
    )
  })
})
