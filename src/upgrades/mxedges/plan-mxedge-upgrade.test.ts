import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { candidate } from '../../../test/support/fleets/mxedge-candidates.ts'
import { strategies } from '../strategies/index.ts'
import { type MxedgePlan, type PlannedMxedge, planMxedgeUpgrade } from './plan-mxedge-upgrade.ts'

const step = { service: 'tunterm', from: '1.0.0', to: '2.0.0', image_id: 'i', allow_downgrade: false }

function mxedge(id: string, changes: Partial<PlannedMxedge> & { readonly clusterId?: string | null } = {}) {
  const { clusterId = null, ...planned } = changes
  return { steps: [step], reasons: [], appliance: { ...candidate, id, clusterId }, ...planned }
}

function plan(planned: readonly PlannedMxedge[], phasing = strategies.big_bang.parse({}), id = 'u1'): MxedgePlan {
  return planMxedgeUpgrade(
    { strategy: 'some', phasing, startGate: null, endsAt: null, notes: [{ reason: 'first' }] },
    planned,
    id,
  )
}

describe('the plan of an upgrade of edge appliances', () => {
  test('puts the members of a cluster into different waves, and everybody else into the first one', () => {
    const { targets } = plan([
      mxedge('a', { clusterId: 'c1' }),
      mxedge('b'),
      mxedge('c', { clusterId: 'c1' }),
      mxedge('d', { clusterId: 'c2' }),
    ])
    const waves = Object.fromEntries(targets.map(({ appliance, wave }) => [appliance.id, wave]))
    expect([waves['a'], waves['c']].toSorted((a = 0, b = 0) => a - b)).toEqual([1, 2])
    expect([waves['b'], waves['d']]).toEqual([1, 1])
  })

  test('skips appliances without steps, and notes why, also what was left out on others', () => {
    const {
      targets,
      notes,
      plan: made,
    } = plan([
      mxedge('a', { reasons: ['it has no service mxagent'] }),
      mxedge('b', { steps: [], reasons: ['no tunterm', 'no mxagent'] }),
      mxedge('c', { steps: [] }),
    ])
    expect(
      targets.map(({ appliance: { id }, phase, wave, ordinal, reason }) => [id, phase, wave, ordinal, reason]),
    ).toEqual([
      ['a', 1, 1, 1, null],
      ['b', 0, 0, 2, 'no tunterm; no mxagent'],
      ['c', 0, 0, 3, 'every service stays at its current version'],
    ])
    expect(made).toMatchObject({ strategy: 'some', phases: 1, phase_sizes: [1], planned: 1, gates: null })
    expect(notes).toEqual([
      { reason: 'first' },
      { mxedge_id: 'b', reason: 'skipped: no tunterm; no mxagent' },
      { mxedge_id: 'c', reason: 'skipped: every service stays at its current version' },
      { mxedge_id: 'a', reason: 'it has no service mxagent' },
    ])
  })

  test('has the gates and the limit of the strategy', () => {
    const canary = strategies.canary.parse({ canary_phases: [50, 100], max_failures: [1, 0] })
    const { plan: made } = plan([mxedge('a'), mxedge('b')], canary)
    expect(made.phase_sizes).toEqual([1, 1])
    expect(made.gates).toHaveLength(2)
    const serial = strategies.serial.parse({ max_failure_percentage: 7 })
    expect(plan([mxedge('a')], serial).plan).toMatchObject({ max_failure_percentage: 7, phase_sizes: [1] })
  })
})

const phasings = fc.constantFrom(
  strategies.big_bang.parse({}),
  strategies.serial.parse({}),
  strategies.canary.parse({}),
  strategies.canary.parse({ canary_phases: [10, 60, 100] }),
)
const fleets = fc
  .array(
    fc.record({
      clusterId: fc.option(fc.constantFrom('c1', 'c2', 'c3'), { nil: null }),
      isSkipped: fc.boolean(),
    }),
    { maxLength: 30 },
  )
  .map((all) =>
    all.map(({ clusterId, isSkipped }, index) =>
      mxedge(`e${index}`, { clusterId, ...(isSkipped && { steps: [], reasons: ['no'] }) }),
    ),
  )

test('every appliance is in the plan once, no two of a cluster in one wave, and the phases add up', () => {
  fc.assert(
    fc.property(fleets, phasings, (fleet, phasing) => {
      const { targets, plan: made } = plan(fleet, phasing)
      expect(targets.map(({ appliance }) => appliance.id).toSorted()).toEqual(
        fleet.map((each) => each.appliance.id).toSorted(),
      )
      expect(targets.map(({ ordinal }) => ordinal)).toEqual(targets.map((_, index) => index + 1))
      const chosen = targets.filter(({ reason }) => reason === null)
      expect(chosen).toHaveLength(made.planned)
      for (const { steps, phase, wave } of targets)
        expect([steps.length > 0, phase > 0, wave > 0]).toEqual(Array(3).fill(steps.length > 0))
      expect(made.phase_sizes.map((_, index) => chosen.filter(({ phase }) => phase === index + 1).length)).toEqual(
        made.phase_sizes,
      )
      // The order of the plan is that of the phases, and within them of the waves.
      const places = chosen.map(({ phase, wave }) => phase * 1000 + wave)
      expect(places).toEqual(places.toSorted((a, b) => a - b))
      const slots = chosen
        .filter(({ appliance }) => appliance.clusterId !== null)
        .map(({ appliance, phase, wave }) => `${appliance.clusterId} ${phase} ${wave}`)
      expect(new Set(slots).size).toBe(slots.length)
    }),
  )
})

test('the same upgrade of the same appliances is planned in the same way, in whatever order they come', () => {
  fc.assert(
    fc.property(fleets, phasings, fc.uuid(), (fleet, phasing, id) => {
      const ids = ({ targets }: MxedgePlan) =>
        targets
          .filter(({ reason }) => reason === null)
          .map(({ appliance, phase }) => `${phase} ${appliance.id}`)
          .toSorted()
      expect(ids(plan(fleet.toReversed(), phasing, id))).toEqual(ids(plan(fleet, phasing, id)))
    }),
  )
})
