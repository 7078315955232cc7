import { describe, expect, test } from 'vitest'
import { atOnce } from '../../platform/queues/next-turn.ts'
import { type OrgPhasePlan, type UpgradePlan, noCounts } from '../../rollout/rollout.ts'
import type { NewTarget, NewUpgrade } from '../../rollout/store-create.ts'
import { type TimedDevice, planEstimateInSteps } from './plan-estimate.ts'

const now = new Date('2026-06-13T12:00:00Z')
const minutes = (date: Date | null): number | null => date && (date.getTime() - now.getTime()) / 60_000

/** Site, type, phase, phase of the download, rank. A switch has two steps, an access point has one. */
type Place = readonly [site: string, type: 'ap' | 'switch', phase: number, download?: number | null, rank?: number]

interface Given {
  readonly plan?: Partial<UpgradePlan>
  readonly downloadPlan?: OrgPhasePlan | null
  readonly phasePlan?: OrgPhasePlan | null
  readonly rebootMinutes?: number
}

function estimate(
  places: readonly Place[],
  { plan, downloadPlan = null, phasePlan = null, rebootMinutes = 0 }: Given = {},
) {
  const devices = places.map(([, type], index): TimedDevice => {
    const commands = type === 'switch' ? (['stage', 'activate'] as const) : (['upgrade'] as const)
    return { mac: String(index), type, memberVersions: [], commands }
  })
  const targets = places.map(([upgradeId, , phase, downloadPhase = null, rank = null], index): NewTarget => ({
    ...{ upgradeId, deviceId: String(index), mac: String(index), model: 'M', imageId: 'i', fromVersion: '1.0' },
    ...{
      targetVersion: '2.0',
      reported: null,
      path: null,
      force: false,
      staged: false,
      state: 'planned',
      ordinal: index + 1,
    },
    ...{ phase, downloadPhase, rank },
  }))
  const sitePlan: UpgradePlan = {
    ...{ strategy: 'canary', phase_scope: 'org', phases: 2, phase_sizes: null, gates: null, planned: 1 },
    ...{ max_failure_percentage: null, stages: true, timezone: 'UTC' },
    ...plan,
  }
  const rebootAt = new Date(now.getTime() + rebootMinutes * 60_000)
  const siteOf = (id: string): NewUpgrade['sites'][number] => ({
    ...{ id, siteId: id, status: 'queued', startAt: now, rebootAt, counts: noCounts, total: 1, notes: [], dueMs: 0 },
    plan: sitePlan,
  })
  const sites = [...new Set(places.map(([site]) => site))].map(siteOf)
  const org: NewUpgrade['org'] = {
    ...{ id: 'u', kind: 'device', request: {}, strategy: 'canary', targetVersion: '2.0', force: false, notes: [] },
    ...{
      enableP2p: false,
      maxFailurePercentage: null,
      planned: places.length,
      joining: null,
      includeDueMs: null,
      endsAt: null,
    },
    ...{ createdAt: now, phasePlan, downloadPlan },
  }
  return atOnce(planEstimateInSteps({ org, sites, targets }, devices))
}

test('the next phase of the whole upgrade waits for the time of the gate, after the last site has ended', () => {
  const wait = {
    max_failures: null,
    max_failure_percentage: 5,
    min_upgraded: 1,
    wait_for: 'time',
    minutes: 480,
  } as const
  const phasePlan = { phase_sizes: [2, 1], gates: [wait, null] }
  const { beginsAbout, endsAbout } = estimate(
    [
      ['a', 'ap', 1],
      ['b', 'switch', 1],
      ['a', 'ap', 2],
    ],
    { phasePlan },
  )
  expect([minutes(beginsAbout('a', 2)), minutes(endsAbout)]).toEqual([500, 508])
})

test('a phase begins at the instant of a gate before it, unless the phases before take longer, or an empty one has it', () => {
  const gateAt = (inMinutes: number) => ({
    ...{ max_failures: null, max_failure_percentage: 5, min_upgraded: 1, wait_for: 'time' as const },
    not_before_s: now.getTime() / 1000 + 60 * inMinutes,
  })
  const places = [
    ['a', 'ap', 1],
    ['a', 'ap', 3],
  ] as const
  const begins = (...gates: OrgPhasePlan['gates'] & {}) =>
    minutes(estimate(places, { phasePlan: { phase_sizes: [1, 0, 1], gates } }).beginsAbout('a', 3))
  expect(begins(gateAt(60), null, null)).toBe(60)
  expect(begins(null, gateAt(60), null)).toBe(60)
  expect(begins(gateAt(5), null, null)).toBe(8)
})

const gates: OrgPhasePlan = { phase_sizes: [], gates: null }
const endOf = (...given: Parameters<typeof estimate>) => minutes(estimate(...given).endsAbout)

describe('an estimate', () => {
  test('lets the devices of a phase at a site follow the order of their ranks', () => {
    expect(
      endOf([
        ['a', 'ap', 1],
        ['a', 'switch', 1],
      ]),
    ).toBe(20)
    expect(
      endOf([
        ['a', 'ap', 1, null, 1],
        ['a', 'switch', 1, null, 2],
      ]),
    ).toBe(28)
    expect(
      endOf([
        ['a', 'ap', 1, null, 1],
        ['b', 'switch', 1, null, 2],
      ]),
    ).toBe(20)
  })

  test('lets downloads run phase by phase, and a phase of the reboots wait for its images', () => {
    const places: Place[] = [
      ['a', 'switch', 1, 1],
      ['a', 'switch', 1, 2],
      ['b', 'switch', 1, 2],
    ]
    const own = estimate(places)
    const shown = (all: ReturnType<typeof estimate>) => [
      ...[1, 2].map((phase) => minutes(all.downloadsBeginAbout('a', phase))),
      minutes(all.downloadsBeginAbout('b', 2)),
      ...['a', 'b'].map((site) => minutes(all.beginsAbout(site, 1))),
      minutes(all.endsAbout),
    ]
    expect(shown(own)).toEqual([0, 5, 0, 10, 5, 25])
    // The second phase opens at all sites together.
    expect(shown(estimate(places, { downloadPlan: gates }))).toEqual([0, 5, 5, 10, 10, 25])
    expect(own.downloadsBeginAbout('b', 1)).toBeNull()
  })

  test('waits for reboots that begin later, not for downloads before them', () => {
    const all = estimate([['a', 'switch', 1, 1]], { rebootMinutes: 60 })
    expect([all.downloadsBeginAbout('a', 1), all.beginsAbout('a', 1), all.endsAbout].map(minutes)).toEqual([0, 60, 75])
  })

  test('counts devices with one step in phases of the downloads once, and ranks there too', () => {
    expect(
      endOf([
        ['a', 'ap', 1, 1],
        ['a', 'ap', 1, 2],
      ]),
    ).toBe(16)
    expect(
      endOf([
        ['a', 'ap', 1, 1, 1],
        ['a', 'ap', 1, 1, 2],
      ]),
    ).toBe(16)
    expect(
      endOf([
        ['a', 'switch', 1, 1, 1],
        ['a', 'switch', 1, 1, 2],
      ]),
    ).toBe(5 + 15 + 15)
  })

  test('lets a download begin in any window, and a reboot in one that is long enough', () => {
    const windows = [
      { start: '12:30', end: '12:40' },
      { start: '14:00', end: '15:00' },
    ]
    const all = estimate([['a', 'switch', 1, 1]], { plan: { windows } })
    expect([all.downloadsBeginAbout('a', 1), all.beginsAbout('a', 1), all.endsAbout].map(minutes)).toEqual([
      30, 120, 135,
    ])
  })

  test('lets devices wait for their turn where few of a site download at once', () => {
    const places: Place[] = [
      ['a', 'ap', 1],
      ['a', 'ap', 1],
      ['a', 'ap', 1],
    ]
    expect(endOf(places, { plan: { max_downloads: 1 } })).toBe(8 + 2 * 3)
    expect(endOf(places, { plan: { max_downloads: 2 } })).toBe(8 + 3)
  })
})
