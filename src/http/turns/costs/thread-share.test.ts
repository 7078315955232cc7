import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createThreadShare } from './thread-share.ts'

function setUp() {
  let [cpuMs, busyMs] = [50, 100]
  const share = createThreadShare({ cpuMs: () => cpuMs, busyMs: () => busyMs })
  return {
    share,
    work: (busy: number, ran: number) => {
      busyMs += busy
      cpuMs += ran
      return share()
    },
  }
}

it('is whole as long as nothing was measured, and then what the thread gets of its busy time', () => {
  const { share, work } = setUp()
  expect(share()).toBe(1)
  expect(work(10, 1)).toBe(1)
  expect(work(10, 9)).toBe(0.5)
  expect(work(30, 30)).toBeCloseTo(0.8, 1)
})

it('follows changes within a few seconds', () => {
  const { work } = setUp()
  for (let times = 0; times < 50; times += 1) work(100, 30)
  expect(work(100, 30)).toBeCloseTo(0.3)
  for (let times = 0; times < 30; times += 1) work(100, 100)
  expect(work(100, 100)).toBeGreaterThan(0.95)
})

it('stays between a tenth and the whole', () => {
  const step = fc.tuple(fc.nat(500), fc.nat(500))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      const { work } = setUp()
      for (const [busy, ran] of steps) {
        const share = work(busy, ran)
        expect(share).toBeGreaterThanOrEqual(0.1)
        expect(share).toBeLessThanOrEqual(1)
      }
    }),
  )
})
