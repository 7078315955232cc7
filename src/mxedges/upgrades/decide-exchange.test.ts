import { expect, test } from 'vitest'
import { appliance, options, step, target as sample } from '../../../test/support/fleets/mxedge-targets.ts'
import { newWorld, round } from '../../../test/support/fleets/mxedge-fleet.ts'
import { exchangePlaces, listAbsent } from './decide-exchange.ts'
import type { MxedgeUpgradeNow } from './decide-upgrade.ts'
import type { ApplianceNow, MxedgeTargetNow } from './target.ts'
import type { MxedgeUpgradePlan } from './upgrade.ts'

const { upgrade, now } = newWorld([{ phase: 1 }, { phase: 2 }, { phase: 3 }], { online_first: true })
const at = { now, nowMs: 1_000_000, options }
/** A window that is open, but too short for an installation, which takes up to 20 minutes. */
const short = { site_id: null, timezone: 'UTC', windows: [{ start: '23:30', end: '00:10' }] }
const night = { ...short, windows: [{ start: '01:00', end: '02:00' }] }

const absent: MxedgeTargetNow = { ...sample, mxedgeId: 'absent', appliance: { ...appliance, link: 'absent' } }
const online: MxedgeTargetNow = { ...sample, mxedgeId: 'online', phase: 2 }

const list = (
  target: Partial<MxedgeTargetNow> = {},
  more: Partial<MxedgeUpgradeNow> = {},
  plan: Partial<MxedgeUpgradePlan> = {},
): string[] =>
  listAbsent({ ...upgrade, plan: { ...upgrade.plan, ...plan }, targets: [{ ...absent, ...target }], ...more }, at).map(
    ({ mxedgeId }) => mxedgeId,
  )

const pair = (targets: readonly MxedgeTargetNow[], plan: Partial<MxedgeUpgradePlan> = {}, count = 1): string[] =>
  exchangePlaces(
    { ...upgrade, plan: { ...upgrade.plan, ...plan }, targets },
    Array.from({ length: count }, (_, place) => ({ ...absent, mxedgeId: `absent ${place}` })),
    at,
  ).map((one) => `${one.online.mxedgeId} for ${one.absent.mxedgeId}`)

const link = (changes: Partial<ApplianceNow>) => ({ appliance: { ...appliance, ...changes } })

test('an appliance of the open phase that is absent is listed', () => {
  expect(list()).toEqual(['absent'])
  expect(list({}, { phaseOpenedMs: 1 })).toEqual(['absent'])
})

test.each<[string, Partial<MxedgeTargetNow>]>([
  ['is connected', link({})],
  ['is expected back', link({ link: 'expected' })],
  ['was deleted', { appliance: null }],
  ['was replaced', link({ link: 'absent', isReplaced: true })],
  ['has left the site', link({ link: 'absent', hasLeft: true })],
  ['waits already', { state: 'deferred' }],
  ['was commanded before', { attempt: 1 }],
  ['is of an earlier phase', { phase: 0 }],
  ['ran the version when it left', { steps: [{ ...step, to: '1.0.0' }] }],
])('an appliance that %s is not', (_, target) => {
  expect(list(target)).toEqual([])
})

test('one of a later wave is, too, because it would not be waited for either', () => {
  const later = { ...absent, mxedgeId: 'later', wave: 2 }
  expect(list({}, { targets: [sample, later] })).toEqual(['later'])
  const world = newWorld([{}, { wave: 2, fate: 'absent' }])
  round(world)
  expect(world.fleet.map(({ target: { state } }) => state)).toEqual(['commanded', 'deferred'])
})

test.each<[string, Partial<MxedgeUpgradeNow>, Partial<MxedgeUpgradePlan>]>([
  ['before the start', { startAt: new Date(now.getTime() + 1) }, {}],
  ['before its approval', {}, { start_gate: { approvals: 1 } }],
  ['while it is held', { hold: { by: 'user', reason: 'paused', since_s: 0, since_ms: 0 } }, {}],
  ['while it stops', { stopping: 'cancelled' }, {}],
  ['in the last phase', { currentPhase: 3, targets: [{ ...absent, phase: 3 }] }, {}],
  ['after the end', {}, { ends_s: now.getTime() / 1000 }],
  ['outside of the maintenance windows', {}, { windows: [night] }],
  ['in a window that is too short', {}, { windows: [short] }],
])('none is listed %s', (_, more, plan) => {
  expect(list({}, more, plan)).toEqual([])
})

test('none is listed where phases keep their appliances', () => {
  const { online_first: _, ...plan } = upgrade.plan
  expect(list({}, { plan })).toEqual([])
})

test('the first connected ones of later phases take the places, as far as there are any', () => {
  const third = { ...online, mxedgeId: 'third', phase: 3 }
  expect(pair([sample, online, third])).toEqual(['online for absent 0'])
  expect(pair([sample, online, third], {}, 3)).toEqual(['online for absent 0', 'third for absent 1'])
  expect(pair([sample])).toEqual([])
})

test.each<[string, Partial<MxedgeTargetNow>]>([
  ['is absent', link({ link: 'absent' })],
  ['was deleted', { appliance: null }],
  ['was replaced', link({ isReplaced: true })],
  ['has left the site', link({ hasLeft: true })],
  ['was commanded before', { attempt: 1 }],
  ['runs the version by now', link({ services: [{ name: 'tunterm', version: '2.0.0', state: 'running' }] })],
  ['is of the open phase', { phase: 1 }],
])('one that %s takes no place', (_, changes) => {
  expect(pair([{ ...online, ...changes }])).toEqual([])
})

test('one that is expected back after a start of the service takes a place', () => {
  expect(pair([{ ...online, ...link({ link: 'expected', connectedMs: null }) }])).toEqual(['online for absent 0'])
})

test('one outside of its maintenance windows takes no place', () => {
  expect(pair([online], { windows: [night] })).toEqual([])
})
