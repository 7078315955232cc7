import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { candidateOf, catalogEntry } from '../../../test/support/fleets/candidates.ts'
import { type Steps, atOnce } from '../../platform/queues/next-turn.ts'
import type { UpgradeNote } from '../../rollout/rollout.ts'
import type { Candidate } from '../../rollout/store-candidates.ts'
import type { NewUpgrade } from '../../rollout/store-create.ts'
import type { SiteTimes } from '../planning/plan-times.ts'
import type { Planned } from '../planning/plan-targets.ts'
import { planUpgradeInSteps } from '../planning/plan-upgrade.ts'
import { strategies } from '../strategies/index.ts'
import { parseOrgUpgrade } from '../wire-parse.ts'
import { decodePlanInSteps, encodePlanInSteps } from './encode-plan.ts'
import { findDifferencesInSteps } from './plan-differences.ts'
import { planPreviewInSteps } from './plan-preview.ts'

const now = new Date('2026-06-13T12:00:00Z')

interface Given {
  readonly site: number
  readonly connected: boolean
  readonly model: string
  readonly decision: 'upgrade' | 'skip' | 'leave_out' | 'busy'
  /** Absent: it can't restore its backup version. */
  readonly restores?: boolean
}

const given = fc.array(
  fc.record({
    site: fc.integer({ min: 0, max: 2 }),
    connected: fc.boolean(),
    model: fc.constantFrom('AP-1', 'AP-2'),
    decision: fc.constantFrom('upgrade', 'upgrade', 'upgrade', 'skip', 'leave_out', 'busy'),
  } satisfies Record<string, fc.Arbitrary<unknown>>),
  { maxLength: 40 },
) as fc.Arbitrary<Given[]>

const bodies = fc.constantFrom(
  { strategy: 'canary' as const },
  { strategy: 'canary' as const, phase_scope: 'site' as const, canary_phases: [30] },
  { strategy: 'serial' as const },
  {},
)

function candidate({ site, connected, model, restores = false }: Given, index: number): Candidate {
  const mac = index.toString(16).padStart(12, '0')
  return candidateOf(mac, { siteId: `site-${site}`, model, connected, mayRestore: restores })
}

/** @param round Distinguishes the ids of site upgrades, which differ in each planning. */
function plan(devices: readonly Given[], body: object, round: string): NewUpgrade {
  const siteUpgrades = [0, 1, 2].map((site) => ({
    site: { id: `site-${site}`, name: `${site}`, timezone: 'UTC', groups: [] },
    upgradeId: `${round}-${site}`,
  }))
  const noNotes: readonly UpgradeNote[] = []
  const known = { startAt: now, rebootAt: now, timezone: 'UTC', windows: [], warnings: noNotes }
  const times = new Map<string, SiteTimes>(siteUpgrades.map(({ site }) => [site.id, known]))
  const plans = devices.map((one, index): Planned => {
    const device = candidate(one, index)
    const entry = catalogEntry('2.0', { model: device.model })
    if (one.decision === 'leave_out') return { kind: 'leave_out', device, reason: 'no image' }
    return { kind: one.decision === 'skip' ? 'skip' : 'upgrade', device, entry, force: false }
  })
  const busy = new Map(
    plans.flatMap(({ device }, index) =>
      devices[index]?.decision === 'busy' ? [[device.id, 'upgrade 7'] as const] : [],
    ),
  )
  return atOnce(
    planUpgradeInSteps(parseOrgUpgrade(body), {
      id: 'plan',
      siteUpgrades,
      times,
      plans,
      busy,
      radio: new Map(),
      cabled: [],
      now,
      nowMs: 0,
    }),
  )
}

const big = strategies.big_bang.parse({})

const previewInSteps = (upgrade: NewUpgrade, devices: readonly Given[]) =>
  planPreviewInSteps(upgrade, {
    devices: devices.map(candidate),
    phasing: { phasing: big, downloads: null },
    startGate: null,
    endsAt: null,
  })
const previewOf = (...given: Parameters<typeof previewInSteps>) => atOnce(previewInSteps(...given))
const encodePlan = (upgrade: NewUpgrade) => atOnce(encodePlanInSteps(upgrade))
const decodePlan = (...given: Parameters<typeof decodePlanInSteps>) => atOnce(decodePlanInSteps(...given))
const findDifferences = (...given: Parameters<typeof findDifferencesInSteps>) =>
  atOnce(findDifferencesInSteps(...given))

describe('a preview', () => {
  test('is a partition of the selected devices, in phases or skipped with a reason', () => {
    fc.assert(
      fc.property(given, bodies, (devices, body) => {
        const { phases, skipped, total } = previewOf(plan(devices, body, 'a'), devices)
        const planned = phases.flatMap(({ sites }) => sites.flatMap(({ macs }) => macs))
        const all = [...planned, ...skipped.map(({ mac }) => mac)]
        expect(all.toSorted()).toEqual(devices.map((one, index) => candidate(one, index).mac))
        expect(planned).toHaveLength(total)
        expect(phases.reduce((sum, phase) => sum + phase.total, 0)).toBe(total)
        expect(phases.at(-1)?.percent ?? 0).toBe(total === 0 ? 0 : 100)
      }),
    )
  })

  test('skips no device that it upgrades: what is said about such a device is among the notes', () => {
    const one = { site: 0, connected: true, model: 'AP-1', decision: 'upgrade' } as const
    const devices = [{ ...one, restores: true }, one, { ...one, decision: 'leave_out' }] as const
    const { total, skipped, notes } = previewOf(plan(devices, { rollback_on_failure: true }, 'a'), devices)
    expect(total).toBe(2)
    expect(skipped).toEqual([{ mac: '000000000002', name: null, reason: 'no image' }])
    expect(notes).toEqual([
      {
        siteId: 'site-0',
        device: { mac: '000000000001', name: null },
        reason: "can't restore its backup version if it fails",
      },
    ])
  })

  test('is the plan that is carried out later, whichever devices are connected then', () => {
    fc.assert(
      fc.property(given, bodies, fc.boolean(), (devices, body, connected) => {
        const before = plan(devices, body, 'a')
        const stored: unknown = JSON.parse(JSON.stringify(encodePlan(before)))
        const later = devices.map((one) => ({ ...one, connected }))
        const fresh = plan(later, body, 'b')
        expect(findDifferences(stored as ReturnType<typeof encodePlan>, fresh)).toEqual([])
        const carriedOut = decodePlan(stored as ReturnType<typeof encodePlan>, fresh)
        expect(previewOf(carriedOut, devices)).toEqual(previewOf(before, devices))
        expect(carriedOut.org.phasePlan).toEqual(before.org.phasePlan)
      }),
    )
  })

  test('has targets that add up to the totals of the sites, and are the same in each loop', () => {
    fc.assert(
      fc.property(given, bodies, (devices, body) => {
        const fresh = plan(devices, body, 'a')
        for (const { org, sites, targets } of [fresh, decodePlan(encodePlan(fresh), fresh)]) {
          const all = [...targets]
          expect([...targets]).toEqual(all)
          expect(new Set(all.map(({ deviceId }) => deviceId)).size).toBe(all.length)
          for (const { id, total } of sites) expect(all.filter(({ upgradeId }) => upgradeId === id)).toHaveLength(total)
          expect(all.filter(({ state }) => state === 'planned')).toHaveLength(org.planned)
        }
      }),
    )
  })

  test('is made, stored and compared in steps of a thousand devices', () => {
    const device: Given = { site: 0, connected: true, model: 'AP-1', decision: 'upgrade' }
    const devices = Array.from({ length: 10_000 }, () => device)
    const fresh = plan(devices, { strategy: 'canary' }, 'a')
    const stored = encodePlan(fresh)
    const countSteps = (steps: Steps<unknown>): number => {
      let count = 0
      while (steps.next().done !== true) count += 1
      return count
    }
    // The preview visits each device three times.
    expect(countSteps(previewInSteps(fresh, devices))).toBeGreaterThan(30)
    expect(countSteps(encodePlanInSteps(fresh))).toBe(10)
    expect(countSteps(findDifferencesInSteps(stored, fresh))).toBeGreaterThan(20)
    expect(countSteps(decodePlanInSteps(stored, fresh))).toBe(10)
  })

  test('is the same for the same id and inputs', () => {
    fc.assert(
      fc.property(given, bodies, (devices, body) => {
        expect(previewOf(plan(devices, body, 'a'), devices)).toEqual(previewOf(plan(devices, body, 'b'), devices))
      }),
    )
  })

  test.each([
    [100, 5, 6],
    [100, 0, 1],
    [100, 100, null],
    [7, 5, 1],
    [1000, 5, 51],
    [0, 5, null],
  ])('of %i devices with %i %% names the failure that stops it: %s', (count, percent, stops) => {
    const devices = Array.from({ length: count }, () => {
      return { site: 0, connected: true, model: 'AP-1', decision: 'upgrade' } satisfies Given
    })
    const body = { strategy: 'canary', max_failure_percentage: percent }
    expect(previewOf(plan(devices, body, 'a'), devices).stopsAfterFailures).toBe(stops)
  })

  test('estimates the end by the phases, one after the other', () => {
    const device: Given = { site: 0, connected: true, model: 'AP-1', decision: 'upgrade' }
    const end = (count: number, body: object) => {
      const devices = Array.from({ length: count }, () => device)
      return previewOf(plan(devices, body, 'a'), devices).endsAbout?.getTime() ?? null
    }
    const single = (end(1, {}) ?? 0) - now.getTime()
    expect(single).toBeGreaterThan(0)
    expect(end(5, {})).toBe(now.getTime() + single)
    expect(end(5, { strategy: 'serial' })).toBe(now.getTime() + 5 * single)
    expect(end(0, {})).toBeNull()
  })
})

describe('a difference', () => {
  const device: Given = { site: 0, connected: true, model: 'AP-1', decision: 'upgrade' }
  const mac = (index: number) => index.toString(16).padStart(12, '0')
  const differences = (before: readonly Given[], after: readonly Given[]) =>
    findDifferences(encodePlan(plan(before, {}, 'a')), plan(after, {}, 'b')).map((one) => [one.mac, one.reason])

  test.each<[string, Given[], Given[], unknown[]]>([
    ['a new device', [device], [device, device], [[mac(1), 'is not in the plan']]],
    [
      'a device in another upgrade',
      [device],
      [{ ...device, decision: 'busy' }],
      [[mac(0), "can't be upgraded any more: in upgrade 7"]],
    ],
    [
      'a device at another site',
      [device],
      [{ ...device, site: 1 }],
      [[mac(0), 'is at the site site-1, not at site-0']],
    ],
    ['another model', [device], [{ ...device, model: 'AP-2' }], [[mac(0), 'is a AP-2, not a AP-1']]],
    [
      'a device that has the version',
      [device],
      [{ ...device, decision: 'skip' }],
      [[mac(0), 'would be skipped, not planned']],
    ],
  ])('is %s', (_, before, after, expected) => {
    expect(differences(before, after)).toEqual(expected)
  })

  test('is a start that has moved, but none that has come', () => {
    const stored = encodePlan(plan([device], {}, 'a'))
    const fresh = plan([device], {}, 'b')
    const minuteLater = new Date(now.getTime() + 60_000)
    const at = (time: Date): NewUpgrade => ({
      ...fresh,
      org: { ...fresh.org, createdAt: minuteLater },
      sites: fresh.sites.map((site) => Object.assign({}, site, { startAt: time, rebootAt: time })),
    })
    expect(findDifferences(stored, at(minuteLater))).toEqual([])
    expect(findDifferences(stored, at(new Date(now.getTime() + 120_000)))).toMatchObject([{ siteId: 'site-0' }])
  })
})
