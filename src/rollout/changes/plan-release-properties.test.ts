import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LosingSite, planRelease, shrinkPendingDownloads, shrinkPhases } from './plan-release.ts'
import { type TakenTarget, noteTaken } from './plan-takeover.ts'
import { type UpgradePlan, noCounts, openCount } from '../rollout.ts'

const PHASES = 3
const plan: UpgradePlan = {
  strategy: 'canary',
  phase_scope: 'site',
  phases: PHASES,
  phase_sizes: [0, 0, 0],
  gates: null,
  max_failure_percentage: 5,
  stages: true,
  planned: 0,
  timezone: 'UTC',
}

interface Device extends TakenTarget {
  readonly isTaken: boolean
}

/** Devices with which a site upgrade has not begun, and how many of its others are in which state. */
const site = fc
  .record({
    devices: fc.array(
      fc.record({
        phase: fc.integer({ min: 1, max: PHASES }),
        downloadPhase: fc.option(fc.integer({ min: 1, max: PHASES })),
        state: fc.constantFrom('planned' as const, 'deferred' as const),
        isTaken: fc.boolean(),
      }),
      { maxLength: 12 },
    ),
    others: fc.record({
      upgraded: fc.nat(2),
      failed: fc.nat(2),
      staged: fc.nat(1),
      skipped: fc.nat(2),
      rebooting: fc.nat(1),
      downloaded: fc.nat(1),
    }),
  })
  .map(({ devices, others }) => {
    const targets = devices.map((device, place): Device => {
      return {
        deviceId: `d${place}`,
        mac: `m${place}`,
        upgradeId: 's',
        orgUpgradeId: 'o',
        upgradeName: null,
        staged: false,
        fetched: false,
        targetVersion: '2.0',
        path: null,
        attempt: 0,
        ...device,
      }
    })
    const sizesOf = (phaseOf: (one: Device) => number | null): number[] =>
      Array.from({ length: PHASES }, (_, phase) => targets.filter((one) => phaseOf(one) === phase + 1).length)
    const count = (state: string): number => targets.filter((one) => one.state === state).length
    const losing: LosingSite = {
      id: 's',
      orgUpgradeId: 'o',
      stopping: null,
      released: 0,
      downloads: null,
      counts: { ...noCounts, ...others, planned: count('planned'), deferred: count('deferred') },
      plan: {
        ...plan,
        phase_sizes: sizesOf(({ phase }) => phase),
        downloads: { strategy: 'canary', scope: 'site', phase_sizes: sizesOf((one) => one.downloadPhase), gates: null },
        planned: targets.length,
      },
    }
    return { losing, targets, taken: targets.filter(({ isTaken }) => isTaken) }
  })

const total = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, one) => sum + one, 0)
const sum = (sizes: readonly number[] | null | undefined): number => sizes?.reduce((all, one) => all + one, 0) ?? 0

describe('a site upgrade that loses devices', () => {
  it('keeps its total, loses them from its phases, and is as if it never had the others of them', () => {
    fc.assert(
      fc.property(site, ({ losing, targets, taken }) => {
        const [change] = planRelease([losing], taken)
        expect(change === undefined).toBe(taken.length === 0)
        if (change === undefined) return
        expect(total(change?.counts ?? noCounts)).toBe(total(losing.counts))
        expect(change?.counts.cancelled).toBe(losing.counts.cancelled + taken.length)
        expect(sum(change?.plan.phase_sizes)).toBe(targets.length - taken.length)
        const left = targets.filter(({ isTaken }) => !isTaken)
        for (const [index, size] of (change?.plan.phase_sizes ?? []).entries())
          expect(size).toBe(left.filter(({ phase }) => phase === index + 1).length)
        for (const [index, size] of (change?.plan.downloads?.phase_sizes ?? []).entries())
          expect(size).toBe(left.filter(({ downloadPhase }) => downloadPhase === index + 1).length)
        // Otherwise the failures that it has tolerated so far could stop it.
        expect(change?.plan.planned).toBe(losing.plan.planned)
        expect(change.lost).toBe(taken.length)
      }),
    )
  })

  it('releases them, unless it stops and would have ended them itself', () => {
    const stops = fc.constantFrom(null, 'failed' as const, 'cancelled' as const)
    fc.assert(
      fc.property(site, fc.nat(3), stops, ({ losing, taken }, released, stopping) => {
        const [change] = planRelease([{ ...losing, released, stopping }], taken)
        if (change !== undefined) expect(change.released).toBe(stopping === null ? released + taken.length : released)
      }),
    )
  })

  it('ends where none is left: as cancelled where it had done nothing, else by what it has done', () => {
    fc.assert(
      fc.property(site, ({ losing, taken }) => {
        const [change] = planRelease([losing], taken)
        if (change === undefined) return
        const { upgraded, staged, failed } = losing.counts
        const ends = upgraded + staged + failed > 0 ? 'by_results' : 'cancelled'
        expect(change.ends).toBe(openCount(change.counts) > 0 ? null : ends)
      }),
    )
  })

  it('in two takeovers becomes the same as in one', () => {
    fc.assert(
      fc.property(site, fc.nat(12), ({ losing, taken }, cut) => {
        const [first] = planRelease([losing], taken.slice(0, cut))
        const [second] = planRelease([{ ...losing, ...first }], taken.slice(cut))
        const last = second ?? first
        const [once] = planRelease([losing], taken)
        expect({ ...last, lost: null }).toEqual({ ...once, lost: null })
      }),
    )
  })
})

it('sites that lose nothing do not change', () => {
  const other = { id: 'other', orgUpgradeId: 'o', stopping: null, released: 0, counts: noCounts, plan, downloads: null }
  const taken = {
    deviceId: 'd',
    mac: 'm',
    upgradeId: 's',
    orgUpgradeId: 'o',
    phase: 1,
    downloadPhase: null,
    staged: false,
    fetched: false,
  }
  expect(planRelease([other], [{ ...taken, state: 'planned' }])).toEqual([])
})

it('phases of the downloads wait for no device that has gone, unless it was not waited for', () => {
  const one = { downloadPhase: 1, staged: false } as const
  expect(
    shrinkPendingDownloads({ 1: 4, 2: 1 }, [
      { ...one, state: 'planned' },
      { ...one, state: 'deferred' },
      { ...one, state: 'planned', staged: true },
      { ...one, state: 'planned', downloadPhase: null },
    ]),
  ).toEqual({ 1: 3, 2: 1 })
  expect(shrinkPhases([2, 1], [{ phase: 1 }])).toEqual([1, 1])
  expect(shrinkPhases(null, [{ phase: 1 }])).toBeNull()
})

it('the record names each upgrade that lost devices, with how many', () => {
  const a = { orgUpgradeId: 'a', upgradeName: null }
  const b = { orgUpgradeId: 'b', upgradeName: 'Friday' }
  expect(noteTaken([b, a, b]).map(({ reason }) => reason)).toEqual([
    '1 device is taken over from upgrade a',
    '2 devices are taken over from upgrade "Friday" (b)',
  ])
  expect(noteTaken([])).toEqual([])
})
