import { expect, test } from 'vitest'
import { at, expected, ms, offline, online, planned, running } from '../../../test/support/fleets/targets.ts'
import type { UpgradePlan } from '../rollout.ts'
import type { SiteUpgradeNow } from '../site-upgrade-now.ts'
import type { TargetNow } from '../targets/target.ts'
import { listAbsent } from './decide-absent.ts'

const now = { now: at(300), nowMs: ms(300) }
const absent: TargetNow = { ...planned, device: offline }
const halves: UpgradePlan = {
  strategy: 'canary',
  phase_scope: 'org',
  phases: 2,
  phase_sizes: [1, 1],
  gates: null,
  max_failure_percentage: null,
  stages: false,
  online_first: true,
  planned: 2,
  timezone: 'UTC',
}
const list = (
  target: Partial<TargetNow> = {},
  siteUpgrade: Partial<SiteUpgradeNow> = {},
  plan: Partial<UpgradePlan> = {},
): string[] =>
  listAbsent(
    {
      ...running,
      plan: { ...halves, ...plan },
      targets: [{ ...absent, ...target }],
      ...siteUpgrade,
    },
    now,
  )

test('a device of the open phase that is absent is listed', () => {
  expect(list()).toEqual([absent.deviceId])
  expect(list({}, { startAt: now.now, rebootAt: now.now })).toEqual([absent.deviceId])
})

test.each<[string, Partial<TargetNow>]>([
  ['is connected', { device: online }],
  ['is expected back', { device: expected }],
  ['has left', { device: null }],
  ['waits already', { state: 'deferred' }],
  ['was commanded before', { attempt: 1 }],
  ['is of an earlier phase', { phase: 0 }],
])('a device that %s is not', (_, target) => {
  expect(list(target)).toEqual([])
})

test.each<[string, Partial<SiteUpgradeNow>]>([
  ['before the start', { startAt: at(301) }],
  ['before the reboots', { rebootAt: at(301) }],
  ['while it is held', { hold: { by: 'user', reason: 'paused', since_s: 0, since_ms: 0 } }],
  ['while it stops', { stopping: 'cancelled' }],
  ['in the last phase', { currentPhase: 2, targets: [{ ...absent, phase: 2 }] }],
  ['in a round of changed devices', { isDue: false }],
])('none is listed %s', (_, siteUpgrade) => {
  expect(list({}, siteUpgrade)).toEqual([])
})

test.each<[string, Partial<UpgradePlan>]>([
  ['outside of the maintenance windows', { windows: [{ start: '01:00', end: '02:00' }] }],
  ['after the end', { ends_s: 1 }],
])('none is listed %s', (_, plan) => {
  expect(list({}, {}, plan)).toEqual([])
})

test('none is listed where phases keep their devices', () => {
  const { online_first: _, ...plan } = halves
  expect(list({}, { plan })).toEqual([])
})
