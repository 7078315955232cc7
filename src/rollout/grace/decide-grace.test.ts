import { expect, test } from 'vitest'
import { type AbsenceCheck, type Outage, type Witnesses, findDisturbed } from './decide-grace.ts'
import { graceOf } from './limit-grace.ts'
import { defaultRolloutOptions as options } from '../rollout.ts'

const check: AbsenceCheck = {
  siteUpgradeId: 'u',
  siteId: 's',
  absentSinceMs: 100,
  returnedSinceMs: 0,
  versions: ['2.0'],
}

function site(connected: number, outages: readonly Outage[], siteId = 's'): Witnesses {
  return { siteId, connected, outages }
}

const away = (count: number, lostMs = 200): Outage[] => Array.from({ length: count }, () => ({ lostMs, backMs: null }))
const back = (count: number, backMs: number): Outage[] => Array.from({ length: count }, () => ({ lostMs: 200, backMs }))

const isDisturbed = (witnesses: readonly Witnesses[], more: Partial<AbsenceCheck> = {}): boolean =>
  findDisturbed([{ ...check, ...more }], witnesses).has('u')

test.each([
  ['the site has no device', [], false],
  ['all are connected', [site(10, [])], false],
  ['the only one is away', [site(0, away(1))], true],
  ['one of two is away', [site(1, away(1))], false],
  ['both are away', [site(0, away(2))], true],
  ['three of ten are away', [site(7, away(3))], true],
  ['three of eleven are away', [site(8, away(3))], false],
  ['299 of 1000 are away', [site(701, away(299))], false],
  ['300 of 1000 are away', [site(700, away(300))], true],
  ['they went before', [site(0, away(3, 99))], false],
  ['all are back', [site(3, back(3, 300))], true],
  ['other sites are away, and this one has no others', [site(0, away(2), 'a'), site(4, away(1), 'b')], true],
  ['the organization is not, but the site', [site(0, away(2)), site(100, [], 'a')], true],
  ['three of ten of the organization are away', [site(3, away(1), 'a'), site(4, away(2), 'b')], true],
  ['three of ten were away, and are back', [site(10, back(3, 300))], true],
  ['they went at that moment', [site(0, away(3, 100))], true],
  ['less than 30 % of the organization is away', [site(0, away(2), 'a'), site(8, away(1), 'b')], false],
])('%s', (_, witnesses, disturbed) => {
  expect(isDisturbed(witnesses)).toBe(disturbed)
})

test('devices that have been back for long do not count, those that are away do', () => {
  expect(isDisturbed([site(3, back(3, 300))], { returnedSinceMs: 301 })).toBe(false)
  expect(isDisturbed([site(3, back(3, 300))], { returnedSinceMs: 300 })).toBe(true)
  expect(isDisturbed([site(0, away(3))], { returnedSinceMs: 1000 })).toBe(true)
})

test('the grace of a site has an end for each device; that after a start has none', () => {
  const endMs = 1000 + 8 * options.reconnectGraceMs
  const grace = (siteMs: number | null, startMs = 0): number =>
    graceOf({ enteredMs: 1000 }, { startMs, siteMs }, options)
  expect(grace(null)).toBe(0)
  expect(grace(5000)).toBe(5000)
  expect(grace(endMs + 1)).toBe(endMs)
  expect(grace(5000, endMs + 1)).toBe(endMs + 1)
})
