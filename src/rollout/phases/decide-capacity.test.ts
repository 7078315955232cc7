import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planned } from '../../../test/support/fleets/targets.ts'
import { type OrgLimits, addBegun, countInUse, findCapacity, limitToCapacity } from './decide-capacity.ts'
import { stepOf } from '../rounds/decide-step.ts'
import { type TargetState, noCounts } from '../rollout.ts'
import type { TargetDecision, TargetNow } from '../targets/target.ts'

const states = [
  'planned',
  'deferred',
  'downloaded',
  'dl_requested',
  'downloading',
  'reboot_requested',
  'rebooting',
] as const

const targetIn = (state: TargetState): TargetNow => ({ ...planned, state })

const decided = fc
  .record({
    state: fc.constantFrom(...states),
    order: fc.constantFrom('upgrade' as const, 'stage' as const, 'activate' as const, null),
  })
  .map(({ state, order }) => {
    const decision: TargetDecision =
      order === null ? { kind: 'wait' } : { kind: 'command', order, failedAttempts: 0, lostAttempts: 0 }
    return { target: targetIn(state), decision }
  })
const limit = fc.option(fc.integer({ min: 1, max: 8 }))
const worlds = fc.record({
  sites: fc.array(fc.array(decided, { maxLength: 10 }), { minLength: 1, maxLength: 4 }),
  maxInFlight: limit,
  maxDownloads: limit,
  maxDownloadsPerSite: limit,
})

function countsOf(targets: readonly { readonly target: TargetNow }[]) {
  const counts = { ...noCounts }
  for (const { target } of targets) counts[target.state] += 1
  return counts
}

/** The sites are decided one after the other, as decideOrgUpgrade() does it. */
function decide(
  sites: readonly (readonly { readonly target: TargetNow; readonly decision: TargetDecision }[])[],
  limits: OrgLimits,
) {
  const before = sites.map((site) => countInUse(countsOf(site)))
  const sumOf = (key: 'inFlight' | 'downloads') => before.reduce((sum, use) => sum + use[key], 0)
  let inUse = { inFlight: sumOf('inFlight'), downloads: sumOf('downloads') }
  const start = inUse
  const bySite = sites.map((site, index) => {
    const here = before[index] ?? inUse
    const limited = limitToCapacity(site, findCapacity(limits, inUse, here))
    const steps = limited.flatMap(({ target, decision }) => stepOf(target, decision) ?? [])
    inUse = addBegun(inUse, steps)
    return { here, after: addBegun(here, steps), limited }
  })
  return { start, end: inUse, bySite }
}

test('no limit is exceeded by a device that begins, and none begins without need to wait', () => {
  fc.assert(
    fc.property(worlds, ({ sites, ...of }) => {
      const limits = { ...of, failureBudget: null }
      const { start, end, bySite } = decide(sites, limits)
      const within = (limitOf: number | null, before: number, after: number) =>
        after === before || after <= (limitOf ?? Infinity)
      expect(within(limits.maxInFlight, start.inFlight, end.inFlight)).toBe(true)
      expect(within(limits.maxDownloads, start.downloads, end.downloads)).toBe(true)
      for (const { here, after } of bySite)
        expect(within(limits.maxDownloadsPerSite, here.downloads, after.downloads)).toBe(true)
      const waited = bySite.some(({ limited }, index) =>
        limited.some(({ decision }, place) => decision !== sites[index]?.[place]?.decision),
      )
      const isFull =
        end.inFlight >= (limits.maxInFlight ?? Infinity) ||
        end.downloads >= (limits.maxDownloads ?? Infinity) ||
        bySite.some(({ after }) => after.downloads >= (limits.maxDownloadsPerSite ?? Infinity))
      if (waited) expect(isFull).toBe(true)
    }),
  )
})

test('devices in use are those in flight, and those of them that download', () => {
  const counts = {
    ...noCounts,
    planned: 64,
    downloaded: 32,
    dl_requested: 1,
    downloading: 2,
    rebooting: 4,
    verifying: 8,
  }
  expect(countInUse(counts)).toEqual({ inFlight: 15, downloads: 3 })
})

test.each([
  [{ inFlight: 1, downloads: Infinity }, ['upgrade', null]],
  [{ inFlight: Infinity, downloads: 1 }, ['upgrade', null]],
  [{ inFlight: Infinity, downloads: Infinity }, ['upgrade', 'upgrade']],
])('each limit is one by itself: %j', (capacity, orders) => {
  const one = {
    target: targetIn('planned'),
    decision: { kind: 'command', order: 'upgrade', failedAttempts: 0, lostAttempts: 0 } as TargetDecision,
  }
  const limited = limitToCapacity([one, { ...one }], capacity)
  expect(limited.map(({ decision }) => (decision.kind === 'command' ? decision.order : null))).toEqual(orders)
})

test('a recovery snapshot downloads nothing, so it waits for no download and takes no place of one', () => {
  const snapshot = {
    target: targetIn('snapshotting'),
    decision: { kind: 'command', order: 'snapshot', failedAttempts: 0, lostAttempts: 0 },
  } as const
  const upgrade = {
    target: targetIn('planned'),
    decision: { kind: 'command', order: 'upgrade', failedAttempts: 0, lostAttempts: 0 },
  } as const
  expect(limitToCapacity([snapshot], { inFlight: 0, downloads: 0 })).toEqual([snapshot])
  expect(limitToCapacity([snapshot, upgrade], { inFlight: 1, downloads: 1 })).toEqual([snapshot, upgrade])
})

test('a device that is in flight may go on, and its further attempt takes no place', () => {
  const inFlight = {
    target: targetIn('dl_requested'),
    decision: { kind: 'command', order: 'upgrade', failedAttempts: 1, lostAttempts: 0 },
  } as const
  expect(limitToCapacity([inFlight], { inFlight: 0, downloads: 0 })).toEqual([inFlight])
})

test('devices that are skipped or deferred take no place from those that begin after them', () => {
  const ends = (['skipped', 'deferred'] as const).map((to) => ({ kind: 'move', to }) as const)
  const steps = ends.flatMap((decision) => stepOf(targetIn('planned'), decision) ?? [])
  expect(steps).toHaveLength(2)
  expect(addBegun({ inFlight: 1, downloads: 1 }, steps)).toEqual({ inFlight: 1, downloads: 1 })
})
