import { expect, test } from 'vitest'
import { noteEnd, refuseEnd } from './plan-end.ts'

const now = new Date('2026-06-13T12:00:00Z')
const at = (text: string) => new Date(`2026-06-${text}:00Z`)
const site = { rebootAt: now, timezone: 'UTC', windows: [] }
const night = { ...site, windows: [{ start: '22:00', end: '04:00' }] }
const later = { ...site, rebootAt: at('15T00:00') }

function refusalOf(endsAt: Date | null, sites: readonly (typeof site | typeof night)[], phase?: Date): string | null {
  const field = 'phase_gates.0.not_before'
  const notBefore = phase === undefined ? [] : [{ field, time: { kind: 'instant' as const, at: phase } }]
  try {
    refuseEnd({ endsAt, notBefore }, sites, now)
    return null
  } catch (error) {
    return String(error)
  }
}

test.each([
  ['none', null, [site]],
  ['one after now', at('13T12:01'), [site]],
  ['one within the first window', at('13T22:01'), [night]],
  ['one after the start of one of the sites', at('14T00:00'), [later, site]],
])('an upgrade may have an end: %s', (_, endsAt, sites) => expect(refusalOf(endsAt, sites)).toBeNull())

test.each([
  ['in the past', at('13T11:59'), [site], '13T12:00'],
  ['now', now, [site], '13T12:00'],
  ['in the past, without a site', at('13T11:59'), [], '13T12:00'],
  ['before the first window', at('13T21:59'), [night], '13T22:00'],
  ['when the first window opens', at('13T22:00'), [night], '13T22:00'],
  ['before the start of all sites', at('14T00:00'), [later, later], '15T00:00'],
])('an end is refused: %s', (_, endsAt, sites, first) =>
  expect(refusalOf(endsAt, sites)).toContain(`but devices begin at ${at(first).toISOString()} at the earliest`),
)

test('a phase that would begin after the end is refused', () => {
  expect(refusalOf(at('14T00:00'), [site], at('13T23:59'))).toBeNull()
  const reason = 'phase_gates.0.not_before: is 2026-06-14T00:00:00.000Z, but end_time is 2026-06-14T00:00:00.000Z'
  expect(refusalOf(at('14T00:00'), [site], at('14T00:00'))).toContain(reason)
})

test('a plan that takes longer says so', () => {
  expect([noteEnd(null, now), noteEnd(now, null), noteEnd(now, now)]).toEqual([[], [], []])
  expect(noteEnd(now, at('13T12:01'))).toMatchObject([{ reason: expect.stringContaining(now.toISOString()) }])
})
