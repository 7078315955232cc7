import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type FailingSigns, MIN_FAILURES, decideNotice, noticeHours } from './decide-notice.ts'

const since = new Date('2026-11-20T12:00:00Z')
const after = (hours: number): Date => new Date(since.getTime() + hours * 3600e3)
const signs: FailingSigns = { failingSince: since, failures: MIN_FAILURES, isPulled: false, noticed: 0 }

it.each([
  [0.99, 0, null],
  [1, 0, 1],
  [23, 1, null],
  [24, 1, 24],
  [25, 0, 24],
  [72, 24, 72],
  [100, 72, null],
])('after %d hours of failing, of which %d are known, notifies of %j', (hours, noticed, expected) => {
  expect(decideNotice({ ...signs, noticed }, after(hours))).toBe(expected)
})

it('disables nothing that has failed a few times only', () => {
  expect(decideNotice({ ...signs, failures: 19, noticed: 24 }, after(80))).toBeNull()
  expect(decideNotice({ ...signs, failures: 20, noticed: 24 }, after(80))).toBe(72)
})

it('notifies of a receiver that fetches nothing after three days too, although no attempt has failed', () => {
  const unfetched = { ...signs, failures: 0, isPulled: true }
  expect(decideNotice(unfetched, after(24))).toBe(24)
  expect(decideNotice({ ...unfetched, noticed: 24 }, after(72))).toBe(72)
})

it('notifies of each stage at most once, in order, however often and irregularly it is called', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 4000 }), { maxLength: 60 }), (pausesM) => {
      let [atH, noticed] = [0, 0]
      const told: number[] = []
      for (const pauseM of pausesM) {
        atH += pauseM / 60
        const notice = decideNotice({ ...signs, noticed }, after(atH))
        if (notice === null) continue
        told.push(notice)
        noticed = notice
      }
      expect(told).toEqual([...new Set(told)].toSorted((a, b) => a - b))
      expect(noticed).toBe(noticeHours.findLast((hours) => hours <= atH) ?? 0)
    }),
  )
})
