import { expect, it } from 'vitest'
import { decideSearchPause } from './decide-search-pause.ts'

const at = (s: number) => new Date(1000 * s)

/** The times of the searches of an upgrade that begins at 0 s, in seconds. */
function searchesUntil(endS: number): number[] {
  const times: number[] = []
  for (let now = 0; now < endS && times.length < 1000;) {
    now += decideSearchPause(at(endS), at(now)) / 1000
    times.push(now)
  }
  return times
}

it('searches every minute if there is no end, or a late one', () => {
  expect(decideSearchPause(null, at(0))).toBe(60_000)
  expect(decideSearchPause(at(3600), at(0))).toBe(60_000)
})

it('searches more often before the end, and once at the end', () => {
  expect(searchesUntil(128)).toEqual([60, 94, 111, 119.5, 123.75, 125.875, 128])
  expect(searchesUntil(30)).toEqual([15, 22.5, 26.25, 30])
  expect(searchesUntil(3)).toEqual([3])
})

it('searches at once after the end', () => {
  expect(decideSearchPause(at(10), at(11))).toBe(0)
})
