import fc from 'fast-check'
import { expect, test } from 'vitest'
import { awaitsImage, hasImage } from '../phases/decide-downloads.ts'
import {
  type ReleasedTarget,
  forgetDownloaded,
  planRelease,
  releasableStates,
  shrinkDownloads,
  shrinkPending,
  shrinkPendingDownloads,
  shrinkPhases,
  shrinkPlan,
} from './plan-release.ts'
import { type TargetCounts, type UpgradePlan, noCounts, openCount } from '../rollout.ts'

const PHASES = 3

const states = [...releasableStates, 'upgraded'] as const
const releasable: ReadonlySet<string> = new Set(releasableStates)

interface Target extends Omit<ReleasedTarget, 'state'> {
  readonly state: (typeof states)[number]
  /** True if another upgrade takes its device over, or a person excludes it. */
  readonly wanted: boolean
}

/** Targets of the site upgrades of one organization upgrade. */
const fleets = fc
  .array(
    fc.record({
      upgradeId: fc.constantFrom('a', 'b'),
      phase: fc.integer({ min: 1, max: PHASES }),
      downloadPhase: fc.option(fc.integer({ min: 1, max: PHASES })),
      staged: fc.boolean(),
      fetched: fc.boolean(),
      state: fc.constantFrom(...states),
      wanted: fc.boolean(),
    }),
    { maxLength: 30 },
  )
  .map((all) =>
    all.map((one, index): Target => ({ ...one, deviceId: String(index), mac: String(index), orgUpgradeId: 'org' })),
  )

function countOf(targets: readonly Target[]): TargetCounts {
  const counts = { ...noCounts }
  for (const { state } of targets) counts[state] += 1
  return counts
}

function sizesOf(targets: readonly Target[], phaseOf: (target: Target) => number | null): number[] {
  return Array.from({ length: PHASES }, (_, index) => targets.filter((one) => phaseOf(one) === index + 1).length)
}

const inPhases = (targets: readonly Target[]): number[] => sizesOf(targets, ({ phase }) => phase)
const inDownloads = (targets: readonly Target[]): number[] => sizesOf(targets, ({ downloadPhase }) => downloadPhase)

function planOf(targets: readonly Target[]): UpgradePlan {
  const downloads = { strategy: 'canary', scope: 'org', phase_sizes: inDownloads(targets), gates: null } as const
  return {
    ...{
      strategy: 'canary',
      phase_scope: 'org',
      phases: PHASES,
      phase_sizes: inPhases(targets),
      gates: null,
      downloads,
    },
    ...{ max_failure_percentage: 5, stages: true, planned: targets.length, timezone: 'UTC' },
  }
}

/** The devices that the phases of the reboots wait for. */
function awaitedIn(targets: readonly Target[]): Record<string, number> {
  const sizes = inPhases(targets.filter(({ state }) => state !== 'deferred' && state !== 'upgraded'))
  return Object.fromEntries(sizes.map((size, index) => [index + 1, size]))
}

function pendingOf(targets: readonly Target[]): Record<string, number> {
  const sizes = sizesOf(targets.filter(awaitsImage), ({ downloadPhase }) => downloadPhase)
  return Object.fromEntries(sizes.map((size, index) => [index + 1, size]))
}

/** The downloads of the site, or of the whole upgrade. */
function downloadedOf(targets: readonly Target[]) {
  const sizes = sizesOf(targets.filter(hasImage), ({ downloadPhase }) => downloadPhase)
  const downloaded = Object.fromEntries(sizes.map((size, index) => [index + 1, size]))
  return { current: 1, gate_passed: 0, failures: {}, downloaded }
}

function releasableOf(target: Target): ReleasedTarget[] {
  const { state } = target
  return target.wanted && isReleasable(state) ? [{ ...target, state }] : []
}

function isReleasable(state: Target['state']): state is ReleasedTarget['state'] {
  return releasable.has(state)
}

test('upgrades that lose devices keep counters that equal a recount, in every state that they may lose them in', () => {
  fc.assert(
    fc.property(fleets, (targets) => {
      const taken = targets.flatMap(releasableOf)
      const isTaken = new Set(taken.map(({ deviceId }) => deviceId))
      const left = targets.filter(({ deviceId }) => !isTaken.has(deviceId))
      const of = (id: string, some: readonly Target[]): Target[] => some.filter(({ upgradeId }) => upgradeId === id)
      const sites = ['a', 'b'].map((id) => {
        const mine = of(id, targets)
        const [counts, plan, downloads] = [countOf(mine), planOf(mine), downloadedOf(mine)]
        return { id, orgUpgradeId: 'org', stopping: null, released: 0, counts, plan, downloads }
      })
      const changes = planRelease(sites, taken)
      expect(changes.map(({ id }) => id)).toEqual(
        ['a', 'b'].filter((id) => taken.some(({ upgradeId }) => upgradeId === id)),
      )
      for (const change of changes) {
        const [before, after] = [of(change.id, targets), of(change.id, left)]
        expect(change.lost).toBe(before.length - after.length)
        expect(change.counts).toEqual({ ...countOf(after), cancelled: change.lost })
        expect(change.released).toBe(change.lost)
        expect(change.plan).toEqual({ ...planOf(after), planned: before.length })
        expect(change.downloads).toEqual(downloadedOf(after))
        expect(change.ends !== null).toBe(openCount(change.counts) === 0)
      }
      expect(shrinkPhases(inPhases(targets), taken)).toEqual(inPhases(left))
      expect(shrinkDownloads({ phase_sizes: inDownloads(targets), gates: null }, taken).phase_sizes).toEqual(
        inDownloads(left),
      )
      expect(shrinkPendingDownloads(pendingOf(targets), taken)).toEqual(pendingOf(left))
      expect(shrinkPending(awaitedIn(targets), taken)).toEqual(awaitedIn(left))
      expect(forgetDownloaded(downloadedOf(targets), taken)).toEqual(downloadedOf(left))
    }),
  )
})

test('only a gate that waits for an event is marked, and only once a release leaves its phase empty', () => {
  const numbers = { max_failures: null, max_failure_percentage: 5, min_upgraded: 1 }
  const waits = { ...numbers, wait_for: 'approval' } as const
  const plan = { phase_sizes: [2, 0, 1, 1], gates: [waits, waits, numbers, null] }
  const [first, second] = [{ phase: 1 }, { phase: 1 }]
  expect(shrinkPlan(plan, [first])).toEqual({ ...plan, phase_sizes: [1, 0, 1, 1] })
  const emptied = { phase_sizes: [0, 0, 0, 0], gates: [{ ...waits, emptied: true }, waits, numbers, null] }
  expect(shrinkPlan(plan, [first, second, { phase: 3 }, { phase: 4 }])).toEqual(emptied)
})
