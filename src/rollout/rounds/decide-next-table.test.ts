import { describe, expect, test } from 'vitest'
import {
  at,
  command,
  commanded,
  ms,
  online,
  planned,
  running,
  updated,
  verifying,
} from '../../../test/support/fleets/targets.ts'
import { decideNext } from './decide-next.ts'
import type { SiteUpgradeNow } from '../site-upgrade-now.ts'
import { type UpgradeHold, type UpgradeStatus, defaultRolloutOptions, noCounts } from '../rollout.ts'
import type { TargetNow } from '../targets/target.ts'
import { keysOf } from '../../platform/records.ts'

const commands = ['stage', 'activate'] as const
const NOW_S = 300
const HOUR_S = 3600
const hold: UpgradeHold = { by: 'user', reason: 'paused', since_s: 0, since_ms: ms(0) }

/** A target that has the image and waits for the reboots. */
const waiting: TargetNow = {
  ...planned,
  state: 'downloaded',
  staged: true,
  attempt: 1,
  device: { ...online, commands },
  command: command('done', { kind: 'stage' }),
}
const fetching = commanded('sent', { device: { ...online, commands }, command: command('sent', { kind: 'stage' }) })
const fetched = { ...fetching, command: command('done', { kind: 'stage' }) }
const idle: TargetNow = { ...planned, device: { ...online, commands } }
/** The device has just come back. */
const soaking: TargetNow = { ...verifying, enteredMs: ms(NOW_S), device: { ...updated, connectedMs: ms(NOW_S) } }
const refused = { ...fetching, command: command('rejected', { refusal: 'bad', refusalIsFinal: true }) }

/** A site upgrade with these targets, all in its only phase, and others that have ended. */
function site(
  status: UpgradeStatus,
  targets: readonly TargetNow[],
  more: Partial<SiteUpgradeNow> = {},
): SiteUpgradeNow {
  const counts: Record<string, number> = { ...noCounts, upgraded: 1 }
  for (const { state } of targets) counts[state] = (counts[state] ?? 0) + 1
  return {
    ...running,
    status,
    plan: {
      strategy: 'big_bang',
      phase_scope: 'site',
      phases: 1,
      phase_sizes: null,
      gates: null,
      max_failure_percentage: 0,
      stages: true,
      planned: targets.length + 1,
      timezone: 'UTC',
    },
    phaseOpenedMs: status === 'queued' ? null : ms(0),
    counts: { ...noCounts, ...counts, ...(status === 'upgrading' ? {} : { upgraded: 0, skipped: 1 }) },
    targets,
    ...more,
  }
}

const later = { rebootAt: at(NOW_S + HOUR_S) }

/** A site upgrade in each of its states, whose reboots begin in an hour unless it has begun them. */
const upgrades = {
  queued: (targets, more) => site('queued', targets, { ...later, ...more }),
  downloading: (targets, more) => site('downloading', targets, { ...later, ...more }),
  downloaded: (targets, more) => site('downloaded', targets, { ...later, ...more }),
  upgrading: (targets, more) => site('upgrading', targets, more),
  held: (targets, more) => site('upgrading', targets, { hold, ...more }),
  'stopping (failed)': (targets, more) => site('upgrading', targets, { stopping: 'failed', stopReason: 'x', ...more }),
  'stopping (cancelled)': (targets, more) =>
    site('upgrading', targets, { stopping: 'cancelled', stopReason: 'x', ...more }),
} as const satisfies Record<string, (targets: readonly TargetNow[], more?: Partial<SiteUpgradeNow>) => SiteUpgradeNow>

type StateName = keyof typeof upgrades

/** The findings of a round. */
const events = {
  'before the start': [[idle], { startAt: at(NOW_S + HOUR_S) }],
  'a device waits for its phase': [[idle], {}],
  'a download runs': [[fetching], {}],
  'the last download has ended': [[fetched], {}],
  'the reboots may begin': [[waiting], { rebootAt: at(NOW_S) }],
  'a device soaks': [[soaking], {}],
  'a failure too many': [[refused, soaking], {}],
  'the last device has soaked': [[verifying], {}],
  'nothing is left': [[], {}],
} as const satisfies Record<string, readonly [readonly TargetNow[], Partial<SiteUpgradeNow>]>

type EventName = keyof typeof events

const table: Readonly<Record<StateName, Readonly<Record<EventName, string>>>> = {
  queued: {
    'before the start': 'queued',
    'a device waits for its phase': 'downloading, stage',
    'a download runs': 'downloading',
    'the last download has ended': 'downloaded',
    'the reboots may begin': 'upgrading, activate',
    'a device soaks': 'upgrading',
    'a failure too many': 'upgrading, stopping (failed)',
    'the last device has soaked': 'completed',
    'nothing is left': 'completed',
  },
  downloading: {
    'before the start': 'downloading, stage',
    'a device waits for its phase': 'downloading, stage',
    'a download runs': 'downloading',
    'the last download has ended': 'downloaded',
    'the reboots may begin': 'upgrading, activate',
    'a device soaks': 'upgrading',
    'a failure too many': 'upgrading, stopping (failed)',
    'the last device has soaked': 'completed',
    'nothing is left': 'completed',
  },
  downloaded: {
    'before the start': 'downloading, stage',
    'a device waits for its phase': 'downloading, stage',
    'a download runs': 'downloading',
    'the last download has ended': 'downloaded',
    'the reboots may begin': 'upgrading, activate',
    'a device soaks': 'upgrading',
    'a failure too many': 'upgrading, stopping (failed)',
    'the last device has soaked': 'completed',
    'nothing is left': 'completed',
  },
  upgrading: {
    'before the start': 'upgrading, stage',
    'a device waits for its phase': 'upgrading, stage',
    'a download runs': 'upgrading',
    'the last download has ended': 'upgrading',
    'the reboots may begin': 'upgrading, activate',
    'a device soaks': 'upgrading',
    'a failure too many': 'upgrading, stopping (failed)',
    'the last device has soaked': 'completed',
    'nothing is left': 'completed',
  },
  held: {
    'before the start': 'upgrading, held',
    'a device waits for its phase': 'upgrading, held',
    'a download runs': 'upgrading, held',
    'the last download has ended': 'upgrading, held',
    'the reboots may begin': 'upgrading, held',
    'a device soaks': 'upgrading, held',
    'a failure too many': 'upgrading, stopping (failed)',
    'the last device has soaked': 'completed',
    'nothing is left': 'completed',
  },
  'stopping (failed)': {
    'before the start': 'failed',
    'a device waits for its phase': 'failed',
    'a download runs': 'upgrading, stopping (failed), fence',
    'the last download has ended': 'upgrading, stopping (failed)',
    'the reboots may begin': 'failed',
    'a device soaks': 'upgrading, stopping (failed)',
    'a failure too many': 'upgrading, stopping (failed)',
    'the last device has soaked': 'completed',
    'nothing is left': 'completed',
  },
  'stopping (cancelled)': {
    'before the start': 'cancelled',
    'a device waits for its phase': 'cancelled',
    'a download runs': 'upgrading, stopping (cancelled), fence',
    'the last download has ended': 'upgrading, stopping (cancelled)',
    'the reboots may begin': 'cancelled',
    'a device soaks': 'upgrading, stopping (cancelled)',
    'a failure too many': 'upgrading, stopping (cancelled)',
    'the last device has soaked': 'completed',
    'nothing is left': 'completed',
  },
}

const now = { now: at(NOW_S), nowMs: ms(NOW_S), graceUntilMs: 0, crowdedMs: null, options: defaultRolloutOptions }

function decided(state: StateName, name: EventName): string {
  const [targets, more] = events[name]
  const { siteUpgrade, steps, fences } = decideNext(upgrades[state](targets, more), now)
  const { status, stopping, hold: held, finishedAt } = siteUpgrade
  const orders = steps.flatMap(({ order }) => order ?? [])
  return [
    status,
    ...(finishedAt === null && stopping !== null ? [`stopping (${stopping})`] : []),
    ...(held === null ? [] : ['held']),
    ...orders,
    ...fences.map(() => 'fence'),
  ].join(', ')
}

const states = keysOf(upgrades)
const names = keysOf(events)

describe('the table of the states of a site upgrade', () => {
  test.each(states)('%s', (state) => {
    expect(Object.fromEntries(names.map((name) => [name, decided(state, name)]))).toEqual(table[state])
  })

  test('commands nothing while the upgrade is held or stops, nor before its start', () => {
    const isOrder = /stage|activate|upgrade$/
    for (const name of names) for (const state of states.slice(4)) expect(table[state][name]).not.toMatch(isOrder)
    expect(table.queued['before the start']).toBe('queued')
  })
})

test('the round that cuts a download off is followed at once by the one that ends its target', () => {
  const [targets, more] = events['a download runs']
  expect(decideNext(upgrades['stopping (failed)'](targets, more), now).siteUpgrade.dueMs).toBe(ms(NOW_S))
})

test('a round decides about more targets than a call can have arguments', () => {
  const dueMs = (count: number): number | null =>
    decideNext(
      upgrades.upgrading(
        Array.from({ length: count }, () => soaking),
        {},
      ),
      now,
    ).siteUpgrade.dueMs
  expect(dueMs(300_000)).toBe(dueMs(1))
})
