import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type FailedTarget,
  type RetriedOrg,
  type RetriedSite,
  findRetryLimit,
  findRetryRefusal,
  planRetry,
} from './plan-retry.ts'
import { OFFLINE, noCounts } from '../rollout.ts'

const NOW_MS = 5_000_000
const at = { now: new Date('2026-03-01T12:00:00Z'), nowMs: NOW_MS }

interface World {
  readonly org: RetriedOrg
  readonly sites: readonly RetriedSite[]
  readonly targets: readonly FailedTarget[]
}

function countOf(targets: readonly FailedTarget[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { phase, reason } of targets) if (reason !== OFFLINE) counts[phase] = (counts[phase] ?? 0) + 1
  return counts
}

/** By phase of the downloads: how many of these targets had their image, and how many failed without it. */
function countDownloadsOf(targets: readonly FailedTarget[]) {
  const inPhases = targets.flatMap((one) => (one.downloadPhase === null ? [] : [{ ...one, phase: one.downloadPhase }]))
  const had = inPhases.filter(({ hadImage }) => hadImage).map((one) => Object.assign(one, { reason: null }))
  return { failures: countOf(inPhases.filter(({ hadImage }) => !hadImage)), downloaded: countOf(had) }
}

/** Counters without those that are zero. */
function some(counts: Readonly<Record<string, number>> = {}): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0))
}

function createWorld(
  targets: readonly FailedTarget[],
  {
    finished,
    scope,
    hold = null,
    percent = null,
    budget = null,
  }: {
    readonly finished: readonly boolean[]
    readonly scope: 'org' | 'site'
    readonly hold?: RetriedOrg['hold']
    readonly percent?: number | null
    readonly budget?: number | null
  },
): World {
  const sites = finished.map((isOver, index): RetriedSite => {
    const mine = targets.filter(({ upgradeId }) => upgradeId === String(index))
    return {
      id: String(index),
      status: isOver ? 'completed' : 'upgrading',
      hasStarted: true,
      stopping: null,
      stopReason: null,
      hold: isOver ? null : hold,
      plan: {
        strategy: 'canary',
        phase_scope: scope,
        phases: 3,
        phase_sizes: [10, 10, 10],
        gates: null,
        max_failure_percentage: percent,
        stages: false,
        planned: 30,
        timezone: 'UTC',
      },
      currentPhase: 2,
      phaseOpenedMs: 1_000_000,
      counts: { ...noCounts, failed: mine.length, upgraded: 30 - mine.length },
      hardFailures: countOf(mine),
      downloads: { current: 1, gate_passed: 0, ...countDownloadsOf(mine) },
      finishedAt: isOver ? new Date(0) : null,
    }
  })
  const phases = {
    sizes: [20, 20, 20],
    gates: null,
    current: 2,
    gatePassed: 1,
    approved: [],
    hurried: [],
    pending: {},
    failures: countOf(targets),
    upgraded: {},
    hold,
    stopping: null,
  }
  const hardFailures = targets.filter(({ reason }) => reason !== OFFLINE).length
  const limits = { maxInFlight: null, maxDownloads: null, maxDownloadsPerSite: null, failureBudget: budget }
  const more = { limits, inUse: { inFlight: 0, downloads: 0 }, start: null, hold }
  const base = { ...more, id: 'org', maxFailurePercentage: percent, planned: 30 * sites.length, hardFailures }
  const { failures, downloaded } = countDownloadsOf(targets)
  const downloads = { ...phases, of: 'downloads' as const, failures, upgraded: downloaded }
  const isOfOrg = scope === 'org'
  return {
    org: { ...base, phases: isOfOrg ? phases : null, downloads: isOfOrg ? downloads : null },
    sites,
    targets,
  }
}

const failed = fc.record({
  upgradeId: fc.constantFrom('0', '1'),
  phase: fc.integer({ min: 1, max: 3 }),
  downloadPhase: fc.option(fc.integer({ min: 1, max: 3 })),
  hadImage: fc.boolean(),
  reason: fc.constantFrom('no_reconnect', 'not_applied', OFFLINE, null),
})
const worlds = fc
  .record({
    targets: fc.array(failed, { minLength: 1, maxLength: 20 }),
    finished: fc.tuple(fc.boolean(), fc.boolean()),
    scope: fc.constantFrom('org' as const, 'site' as const),
    picked: fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
  })
  .map(({ picked, targets, ...world }) => {
    const retried = targets.filter((_, index) => picked[index] === true)
    const left = targets.filter((target) => !retried.includes(target))
    return Object.assign(createWorld(targets, world), { retried, left })
  })

describe('a retry', () => {
  test('leaves counters that equal a recount', () => {
    fc.assert(
      fc.property(worlds, ({ org, sites, retried, left }) => {
        const plan = planRetry(org, sites, retried, at)
        for (const { id, counts, hardFailures, downloads } of plan.sites) {
          const mine = left.filter(({ upgradeId }) => upgradeId === id)
          expect(some(hardFailures)).toEqual(countOf(mine))
          expect(counts.failed).toBe(mine.length)
          const { failures, downloaded } = countDownloadsOf(mine)
          expect([some(downloads?.failures), some(downloads?.downloaded)]).toEqual([failures, downloaded])
          expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(30)
        }
        expect(plan.org.hardFailures).toBe(left.filter(({ reason }) => reason !== OFFLINE).length)
        if (plan.org.phases === null) return
        expect(some(plan.org.phases.failures)).toEqual(countOf(left))
        const waiting = Object.values(plan.org.phases.pending).reduce((sum, count) => sum + count, 0)
        expect(waiting).toBe(retried.length)
        const { failures, downloaded, pending } = plan.org.downloads ?? {}
        expect({ failures: some(failures), downloaded: some(downloaded) }).toEqual(countDownloadsOf(left))
        const loading = retried.filter(({ downloadPhase }) => downloadPhase !== null)
        expect(Object.values(pending ?? {}).reduce((sum, count) => sum + count, 0)).toBe(loading.length)
      }),
    )
  })

  test('lets each site with a retried device go on, in the phase of the whole upgrade, and touches no other', () => {
    fc.assert(
      fc.property(worlds, ({ org, sites, retried }) => {
        const plan = planRetry(org, sites, retried, at)
        expect(new Set(plan.sites.map(({ id }) => id))).toEqual(new Set(retried.map(({ upgradeId }) => upgradeId)))
        for (const { currentPhase, status } of plan.sites) {
          expect(status).toBe('upgrading')
          if (plan.org.phases !== null) expect(currentPhase).toBe(plan.org.phases.current)
        }
      }),
    )
  })
})

const gate = { by: 'gate', reason: '1 of 2 devices failed', since_s: 1, since_ms: 3_000_000 } as const
const one: FailedTarget = { upgradeId: '0', phase: 1, downloadPhase: null, hadImage: true, reason: 'not_applied' }

test('no count of downloads becomes negative where an earlier release has not counted the device', () => {
  const { org, sites } = createWorld([], { finished: [true], scope: 'org' })
  const plan = planRetry(org, sites, [{ ...one, downloadPhase: 1 }], at)
  expect([plan.org.downloads?.downloaded, plan.sites[0]?.downloads?.downloaded]).toEqual([{ 1: 0 }, { 1: 0 }])
})

test('a pause at a gate ends, and its time does not count for absent devices; the gate is not passed', () => {
  const { org, sites } = createWorld([one], { finished: [false], scope: 'org', hold: gate })
  const plan = planRetry(org, sites, [one], at)
  const open = { current: 2, gatePassed: 1 }
  expect(plan).toMatchObject({ releasesAll: true, org: { hold: null, phases: open, downloads: open } })
  expect(plan.sites).toMatchObject([{ hold: null, phaseOpenedMs: 1_000_000 + (NOW_MS - 3_000_000) }])
})

test("a person's pause stays, also at a site that goes on", () => {
  const hold = { ...gate, by: 'user' } as const
  const { org, sites } = createWorld([one], { finished: [true, false], scope: 'org', hold })
  const plan = planRetry(org, sites, [one], at)
  expect(plan).toMatchObject({ releasesAll: false, org: { hold }, sites: [{ hold }] })
  const other = { ...one, upgradeId: '1' }
  const running = planRetry(org, sites, [other], at)
  expect(running.sites).toMatchObject([{ id: '1', hold, status: 'upgrading', phaseOpenedMs: 1_000_000 }])
})

test.each(['phases', 'downloads'] as const)('a pause at a gate of the whole upgrade ends at all sites: %s', (which) => {
  const { org, sites } = createWorld([one], { finished: [false], scope: 'org', hold: gate })
  const releasesAll = (more: Partial<RetriedOrg>) => planRetry({ ...org, ...more }, sites, [one], at).releasesAll
  expect(releasesAll({ phases: null, downloads: null })).toBe(false)
  expect(releasesAll({ phases: null, downloads: null, [which]: org[which] })).toBe(true)
  expect(releasesAll({ hold: null })).toBe(false)
})

test('a site upgrade that has ended goes on with all of its own phases open, or starts if it never has', () => {
  const { org, sites } = createWorld([one], { finished: [true], scope: 'site' })
  const retry = (more: Partial<RetriedSite>) =>
    planRetry(
      org,
      sites.map((site) => Object.assign({}, site, more)),
      [one],
      at,
    ).sites[0]
  const downloads = { strategy: 'serial', scope: 'site', phase_sizes: [1, 1], gates: null } as const
  expect(retry({})).toMatchObject({ status: 'upgrading', currentPhase: 3, downloads: { current: 1 } })
  expect(retry({ finishedAt: null })).toMatchObject({ status: 'completed', currentPhase: 2 })
  const [site] = sites
  if (site === undefined) throw new Error('no site')
  expect(retry({ plan: { ...site.plan, downloads } })).toMatchObject({ downloads: { current: 2 } })
  expect(retry({ hasStarted: false, downloads: null })).toMatchObject({ status: 'queued', downloads: null })
})

test('an upgrade that has ended goes on after its last phase, and is not paused any more', () => {
  const { org, sites } = createWorld([one], { finished: [true, true], scope: 'org', hold: { ...gate, by: 'user' } })
  const plan = planRetry(org, sites, [one], at)
  expect(plan.org).toMatchObject({ hold: null, phases: { current: 3, gatePassed: 3 } })
  expect(plan.sites).toMatchObject([{ currentPhase: 3, phaseOpenedMs: NOW_MS, hold: null }])
})

describe('an upgrade that has ended and has gates with approvals or instants', () => {
  const approval = {
    ...{ max_failures: null, max_failure_percentage: null, min_upgraded: 0 },
    wait_for: 'approval',
  } as const
  const NOW_S = at.now.getTime() / 1000
  const inAMinute = { ...approval, wait_for: 'time' as const, not_before_s: NOW_S + 60 }
  const openAfter = (phase: number, changes: Partial<NonNullable<RetriedOrg['phases']>>) => {
    const target = { ...one, phase, downloadPhase: phase }
    const { org, sites } = createWorld([target], { finished: [true], scope: 'org' })
    const phases = org.phases && { ...org.phases, gates: [approval, approval, null], ...changes }
    const downloads = phases && ({ ...phases, of: 'downloads' } as const)
    const plan = planRetry({ ...org, phases, downloads }, sites, [target], at)
    expect(plan.sites[0]?.currentPhase).toBe(plan.org.phases?.current)
    expect(plan.sites[0]?.downloads?.current).toBe(plan.org.downloads?.current)
    return [plan.org.phases?.current, plan.org.downloads?.current]
  }

  test.each([
    ['up to the first that nobody has given', 3, {}, 1],
    ['up to the next one', 3, { approved: [1] }, 2],
    [
      'up to one that lacks one of its approvals',
      3,
      { approved: [1], gates: [{ ...approval, approvals: 2 }, approval, null] },
      1,
    ],
    ['as far as those given', 3, { approved: [1, 2] }, 3],
    ['over one behind the devices', 1, {}, 3],
    ['over one behind the devices, where later phases await none any more', 1, { pending: { 3: 0 } }, 3],
    ['over one after a phase that was planned without devices', 2, { sizes: [0, 20, 20] }, 3],
    [
      'up to one after a phase that other upgrades have emptied',
      2,
      { sizes: [0, 20, 20], gates: [{ ...approval, emptied: true as const }, null, null] },
      1,
    ],
    [
      'over one that waits for something else',
      2,
      { gates: [{ ...approval, wait_for: 'pause' as const }, null, null] },
      3,
    ],
    ['up to one with an instant', 3, { gates: [null, inAMinute, null] }, 2],
    ['over one whose instant is past', 3, { gates: [{ ...inAMinute, not_before_s: NOW_S }, null, null] }, 3],
    ['over one whose instant a person did not wait for', 2, { gates: [inAMinute, null, null], hurried: [1] }, 3],
  ])('goes on %s', (_, phase, changes, open) => {
    expect(openAfter(phase, changes)).toEqual([open, open])
  })
})

test('failures that a retry leaves may exceed a limit', () => {
  const failures = Array.from({ length: 4 }, () => ({ ...one }))
  const { org, sites } = createWorld(failures, { finished: [true], scope: 'org', percent: 5 })
  const limitOf = (count: number) => findRetryLimit(org, sites, planRetry(org, sites, failures.slice(0, count), at))
  expect(limitOf(2)).toBe('more than 5 % of 30 devices failed')
  expect(limitOf(3)).toBeNull()
})

test('failures that a retry leaves may exceed the budget of all sites', () => {
  const failures = Array.from({ length: 4 }, () => ({ ...one }))
  const { org, sites } = createWorld(failures, { finished: [true], scope: 'org', budget: 1 })
  const limitOf = (count: number) => findRetryLimit(org, sites, planRetry(org, sites, failures.slice(0, count), at))
  expect(limitOf(2)).toBe('more than 1 failure in all sites, the failure_budget')
  expect(limitOf(3)).toBeNull()
})

test('failures that a retry leaves at other sites may exceed the limit of all sites', () => {
  const others = Array.from({ length: 4 }, () => ({ ...one, upgradeId: '1' }))
  const limitOf = (left: readonly FailedTarget[]) => {
    const { org, sites } = createWorld([one, ...left], { finished: [true, true], scope: 'org', percent: 5 })
    return findRetryLimit(org, sites, planRetry(org, sites, [one], at))
  }
  expect(limitOf(others)).toBe('more than 5 % of 60 devices in all sites failed')
  expect(limitOf(others.slice(1))).toBeNull()
})

test.each([
  ['phases', 'more than 1 failure in phase 1'],
  ['downloads', 'more than 1 failure in download phase 1'],
] as const)('failures that a retry leaves may exceed the limit of a phase: %s', (which, reason) => {
  const failures = Array.from({ length: 3 }, () => ({ ...one, downloadPhase: 1, hadImage: false }))
  const { org, sites } = createWorld(failures, { finished: [true], scope: 'org' })
  const gate = { max_failures: 1, max_failure_percentage: null, min_upgraded: 0 }
  const limited = { ...org, [which]: org[which] && { ...org[which], gates: [gate] } }
  const limitOf = (count: number) =>
    findRetryLimit(limited, sites, planRetry(limited, sites, failures.slice(0, count), at))
  expect(limitOf(1)).toBe(reason)
  expect(limitOf(2)).toBeNull()
})

test.each([
  ['upgrading', null, null, null],
  ['failed', 'failed', new Date(0), null],
  ['upgrading', 'failed', null, 'the upgrade of its site is stopping; retry it once it has ended'],
  ['upgrading', 'cancelled', null, 'the upgrade of its site was cancelled'],
  ['cancelled', 'cancelled', new Date(0), 'the upgrade of its site was cancelled'],
] as const)('a site upgrade that is %s (stopping: %s, ended: %s)', (status, stopping, finishedAt, refusal) => {
  const [site] = createWorld([], { finished: [false], scope: 'org' }).sites
  if (site === undefined) throw new Error('no site')
  expect(findRetryRefusal({ ...site, status, stopping, finishedAt })).toBe(refusal)
})
