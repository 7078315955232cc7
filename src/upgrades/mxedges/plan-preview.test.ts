import { describe, expect, test } from 'vitest'
import type { NewUpgrade } from '../../mxedges/upgrades/store-create.ts'
import { type MxedgeStep, noCounts } from '../../mxedges/upgrades/upgrade.ts'
import { decodeMxedgePlan, encodeMxedgePlan, findMxedgeDifferences, planMxedgePreview } from './plan-preview.ts'

const now = new Date('2026-06-13T12:00:00Z')
const minutes = (count: number) => new Date(now.getTime() + count * 60_000)
const step: MxedgeStep = { service: 'tunterm', from: '1.0', to: '2.0', image_id: 'image', allow_downgrade: false }
const target = (mxedgeId: string, phase: number, ordinal: number) => {
  const place = { phase, wave: 1, ordinal, registrationEpoch: 1, plannedSiteId: null }
  return { mxedgeId, name: mxedgeId, ...place, steps: [step], state: 'planned' as const, reason: null }
}
const upgrade: NewUpgrade = {
  ...{
    id: 'id',
    siteId: null,
    request: {},
    counts: noCounts,
    notes: [],
    startAt: now,
    joining: null,
    adminId: null,
    hold: null,
    includeDueMs: null,
  },
  plan: {
    ...{ strategy: 'canary', phases: 2, phase_sizes: [1, 1], gates: [{ max_failures: 0 }, null] as never },
    ...{ max_failure_percentage: 60, planned: 2 },
  },
  targets: [target('a', 1, 1), target('b', 2, 2)],
}
const stored = JSON.parse(JSON.stringify(encodeMxedgePlan(upgrade))) as ReturnType<typeof encodeMxedgePlan>
const differences = (fresh: Partial<NewUpgrade>) => findMxedgeDifferences(stored, { ...upgrade, ...fresh }, minutes(5))

test('a preview counts appliances and failures by phase', () => {
  expect(planMxedgePreview(upgrade, { percents: null, now })).toMatchObject({
    total: 2,
    stopsAfterFailures: 2,
    expiresAt: minutes(15),
    phases: [
      { percent: 50, stopsAfterFailures: 1, appliances: [{ id: 'a', steps: [step] }] },
      { percent: 100, stopsAfterFailures: null, appliances: [{ id: 'b' }] },
    ],
  })
  expect(planMxedgePreview(upgrade, { percents: [40, 100], now }).phases[0]?.percent).toBe(40)
})

test('a preview has no notes about appliances that it lists as skipped', () => {
  const notes = [
    { reason: 'skipped: a step of the request' },
    { mxedge_id: 'a', reason: 'skipped: a service that stays' },
    { mxedge_id: 'c', kind: 'in_another_upgrade', reason: 'it has another one' },
  ] as const
  const skipped = { ...target('c', 0, 3), steps: [], state: 'skipped' as const, reason: 'why' }
  const preview = planMxedgePreview(
    { ...upgrade, notes, targets: [...upgrade.targets, skipped] },
    { percents: null, now },
  )
  expect(preview).toMatchObject({ notes: notes.slice(0, 2), skipped: [{ mxedgeId: 'c', reason: 'why' }] })
})

describe('a plan', () => {
  test('fits while nothing that it relied on has changed, and keeps its order', () => {
    const reordered = { ...upgrade, targets: [target('b', 1, 1), target('a', 2, 2)], startAt: minutes(5) }
    expect(findMxedgeDifferences(stored, reordered, minutes(5))).toEqual([])
    const carried = decodeMxedgePlan(stored, reordered)
    expect(carried.targets.map(({ mxedgeId, phase, ordinal }) => [mxedgeId, phase, ordinal])).toEqual([
      ['b', 2, 2],
      ['a', 1, 1],
    ])
    expect(carried.startAt).toEqual(minutes(5))
  })

  test('fits if appliances with which nothing is done are new, gone, or skipped for another reason', () => {
    const skipped = (id: string, reason: string) => ({
      ...target(id, 0, 9),
      steps: [],
      state: 'skipped' as const,
      reason,
    })
    const known = {
      ...upgrade,
      targets: [...upgrade.targets, skipped('c', 'it is in upgrade id'), skipped('d', 'why')],
    }
    const fresh = {
      ...upgrade,
      targets: [...upgrade.targets, skipped('c', 'tunterm runs 2.0 already'), skipped('e', 'why')],
    }
    const plan = JSON.parse(JSON.stringify(encodeMxedgePlan(known))) as typeof stored
    expect(findMxedgeDifferences(plan, fresh, minutes(5))).toEqual([])
    const last = { ...skipped('e', 'why'), ordinal: 10 }
    expect(decodeMxedgePlan(plan, fresh).targets).toEqual([...fresh.targets.slice(0, -1), last])
  })

  test('gives each target a position of its own, also those that are skipped only now', () => {
    const skipped = (id: string, ordinal: number) => ({ ...target(id, 0, ordinal), steps: [], reason: 'why' })
    const known = { ...upgrade, targets: [...upgrade.targets, skipped('c', 3), skipped('e', 4)] }
    const fresh = { ...upgrade, targets: [...upgrade.targets, skipped('d', 3), skipped('e', 4), skipped('c', 5)] }
    const { targets } = decodeMxedgePlan(encodeMxedgePlan(known), fresh)
    expect(targets.map(({ mxedgeId, ordinal }) => [mxedgeId, ordinal])).toEqual([
      ['a', 1],
      ['b', 2],
      ['d', 5],
      ['e', 4],
      ['c', 3],
    ])
  })

  test('fits if there are maintenance windows at a place where nothing is upgraded', () => {
    const windows = [{ site_id: 'other', timezone: 'UTC', windows: [] }]
    expect(differences({ plan: { ...upgrade.plan, windows } })).toEqual([])
  })

  test.each<[string, Partial<NewUpgrade>, readonly (string | null)[]]>([
    ['an appliance is new', { targets: [...upgrade.targets, target('c', 2, 3)] }, ['c']],
    ['an appliance is gone', { targets: upgrade.targets.slice(1) }, ['a']],
    ['one is skipped', { targets: [{ ...target('a', 0, 1), steps: [], reason: 'why' }, target('b', 2, 2)] }, ['a']],
    [
      'a step differs',
      { targets: [{ ...target('a', 1, 1), steps: [{ ...step, from: '1.5' }] }, target('b', 2, 2)] },
      ['a'],
    ],
    [
      'another box has registered',
      { targets: [target('a', 1, 1), { ...target('b', 2, 2), registrationEpoch: 2 }] },
      ['b'],
    ],
    ['the start differs', { startAt: minutes(60) }, [null]],
    [
      'windows are others',
      { plan: { ...upgrade.plan, windows: [{ site_id: null, timezone: 'UTC', windows: [] }] } },
      [null],
    ],
  ])('does not fit where %s', (_, fresh, ids) => {
    expect(differences(fresh).map(({ mxedgeId }) => mxedgeId)).toEqual(ids)
  })
})
