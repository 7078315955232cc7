import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Admission, createAdmission } from './admission.ts'

const plenty = { perSecond: 1000, burst: 1000 }

/** As many as get in at once. */
function fill(admission: Admission, address: string, atMs = 0): number {
  let entered = 0
  while (admission.enter(address, atMs)) entered += 1
  return entered
}

describe('createAdmission', () => {
  test('lets a burst in, of which nobody gets more than is left for the others, then the rate', () => {
    const admission = createAdmission({ perSecond: 10, burst: 10, handshakes: 1000 })
    expect(['a', 'b', 'c', 'd', 'e'].map((address) => fill(admission, address))).toEqual([5, 3, 1, 1, 0])
    expect(admission.enter('e', 99)).toBe(false)
    expect(admission.enter('e', 100)).toBe(true)
  })

  test('gives somebody who is alone nearly the whole rate', () => {
    const admission = createAdmission({ perSecond: 300, burst: 600, handshakes: 100_000 })
    let entered = 0
    for (let at = 0; at < 60_000; at += 10) entered += fill(admission, 'a', at)
    expect(entered).toBeGreaterThan(300 * 60 * 0.98)
  })

  test.each([
    { noisy: 3, settledMs: 0 },
    // So many that come at once take all there is, for a moment.
    { noisy: 50, settledMs: 1000 },
  ])('has a token for every newcomer while $noisy others take all they can', ({ noisy, settledMs }) => {
    const admission = createAdmission({ perSecond: 300, burst: 600, handshakes: 100_000 })
    const refused: number[] = []
    for (let at = 0; at < 20_000; at += 10) {
      for (let one = 0; one < noisy; one += 1) fill(admission, `10.0.0.${one}`, at)
      if (!admission.enter(`192.0.2.${at}`, at) && at >= settledMs) refused.push(at)
    }
    expect(refused).toEqual([])
  })

  test('bounds the handshakes under way', () => {
    const admission = createAdmission({ ...plenty, handshakes: 4 })
    expect(['a', 'b', 'c', 'd'].map((address) => fill(admission, address))).toEqual([2, 1, 1, 0])
    admission.leave('a')
    expect(admission.enter('d', 0)).toBe(true)
    expect(admission.enter('e', 0)).toBe(false)
  })

  test('gives places back to those who left them', () => {
    const admission = createAdmission({ ...plenty, handshakes: 200 })
    for (let round = 0; round < 3; round += 1) {
      expect(fill(admission, 'a', round * 10_000)).toBe(100)
      for (let count = 0; count < 100; count += 1) admission.leave('a')
    }
    admission.leave('nobody')
    expect(fill(admission, 'b', 40_000)).toBe(100)
  })

  test('takes the addresses of one /64 for one', () => {
    const admission = createAdmission({ ...plenty, handshakes: 4 })
    const addresses = ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::1']
    expect(addresses.map((address) => admission.enter(address, 0))).toEqual([true, true, false, true])
    admission.leave('2001:db8::1')
    admission.leave('2001:db8::2')
    expect(admission.enter('2001:db8::3', 0)).toBe(true)
  })

  test('never lets in more than burst and rate allow, whatever the clock does', () => {
    const times = fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(times, (ats) => {
        const admission = createAdmission({ perSecond: 20, burst: 5, handshakes: 1000 })
        const entered = ats.filter((at, i) => admission.enter(`10.0.0.${i % 7}`, at)).length
        const forwardMs = ats.reduce((sum, at, i) => sum + Math.max(0, at - (ats[i - 1] ?? at)), 0)
        expect(entered).toBeLessThanOrEqual(5 + (forwardMs * 20) / 1000)
      }),
    )
  })
})
