import { describe, expect, test } from 'vitest'
import { candidateOf } from '../../../test/support/fleets/candidates.ts'
import { type IncludingOrg, type IncludingSite, type InclusionOf, planInclusion } from './plan-inclusion.ts'
import { type DownloadPlan, type PhaseGate, type UpgradePlan, noCounts } from '../rollout.ts'

const NOW_MS = 5000
const gate: PhaseGate = {
  max_failures: null,
  max_failure_percentage: null,
  min_upgraded: 0,
  min_success_percentage: 50,
}
const downloads: DownloadPlan = { strategy: 'serial', scope: 'site', phase_sizes: [1, 1], gates: [gate, gate] }

const site = (more: Partial<UpgradePlan> = {}): IncludingSite => ({
  id: 'u',
  status: 'upgrading',
  stopping: null,
  stopReason: null,
  hold: null,
  plan: {
    strategy: 'canary',
    phase_scope: 'site',
    phases: 2,
    phase_sizes: [1, 1],
    gates: [gate, gate],
    max_failure_percentage: 5,
    stages: true,
    planned: 2,
    timezone: 'UTC',
    ...more,
  },
  currentPhase: 2,
  phaseOpenedMs: 1000,
  counts: { ...noCounts, upgraded: 2 },
  hardFailures: {},
  downloads: { current: 2, gate_passed: 0, failures: {}, downloaded: { 1: 1, 2: 1 } },
  finishedAt: null,
  total: 2,
})

const device = (mac: string, steps: 1 | 2): InclusionOf['devices'][number] => ({
  upgradeId: 'u',
  device: candidateOf(mac, { type: 'switch', commands: steps === 2 ? ['stage', 'activate'] : ['upgrade'] }),
  imageId: 'i',
  targetVersion: '2.0',
  reported: [],
  path: null,
  force: false,
})

const joining = [device('a', 2), device('b', 1), device('c', 2)]
const org = { planned: 2, phases: null, downloads: null, hold: null }
const how = {
  devices: joining,
  joins: 'last_phase',
  downloadsJoin: 'last_phase',
  ranks: new Map(),
  nowMs: NOW_MS,
} as const satisfies InclusionOf

/** The phases of a whole upgrade. */
const phasesOf = (sizes: readonly number[], gates: readonly PhaseGate[]): NonNullable<IncludingOrg['phases']> => ({
  ...{ sizes, gates, pending: {}, failures: {}, upgraded: {}, approved: [], hurried: [] },
  ...{ current: 1, gatePassed: 0, hold: null, stopping: null },
})

function placesOf(plan: Partial<UpgradePlan>, more: Partial<InclusionOf>) {
  const { sites, targets } = planInclusion(org, [site(plan)], { ...how, ...more })
  return { plan: sites[0]?.plan, places: targets.map(({ phase, downloadPhase, rank }) => [downloadPhase, phase, rank]) }
}

describe('devices that join', () => {
  test('go into the last phases', () => {
    const { plan, places } = placesOf({ downloads }, {})
    expect(places).toEqual([
      [2, 2, null],
      [null, 2, null],
      [2, 2, null],
    ])
    expect(plan).toMatchObject({ phases: 2, phase_sizes: [1, 4], downloads: { phase_sizes: [1, 3] } })
  })

  test('download one after the other with serial, with the gate of the last phase, whatever the reboots do', () => {
    const { plan, places } = placesOf({ downloads }, { downloadsJoin: 'own_phase' })
    expect(places.map(([download]) => download)).toEqual([3, null, 4])
    expect(plan?.downloads).toMatchObject({ phase_sizes: [1, 1, 1, 1], gates: [gate, gate, gate, gate] })
  })

  test('restart one after the other with serial, with the gate of the last phase', () => {
    const { plan, places } = placesOf({}, { joins: 'own_phase' })
    expect(places.map(([, phase]) => phase)).toEqual([3, 4, 5])
    expect(plan).toMatchObject({ phases: 5, phase_sizes: [1, 1, 1, 1, 1], gates: [gate, gate, gate, gate, gate] })
    expect(plan).not.toHaveProperty('downloads')
  })

  test('are in phases of the downloads also where they have one step only, if others of these are', () => {
    const { places } = placesOf({ downloads: { ...downloads, one_step: true } }, {})
    expect(places.map(([download]) => download)).toEqual([2, 2, 2])
  })

  test('have a place in the order of restarts of their site', () => {
    const { plan, places } = placesOf(
      {},
      {
        ranks: new Map([
          ['a', 2],
          ['b', 1],
          ['c', 3],
        ]),
      },
    )
    expect(places.map(([, , rank]) => rank)).toEqual([2, 1, 3])
    expect(plan?.ranked).toBe(true)
    expect(placesOf({}, { ranks: new Map([['c', 1]]) }).plan?.ranked).toBe(true)
    expect(placesOf({}, {}).plan).not.toHaveProperty('ranked')
  })

  test.each([
    ['wait behind each gate that waits for an event if no device came before them', [0, 0, 0], true],
    ['change no gate if phases before them have devices', [0, 1, 2], undefined],
  ])('%s', (_, sizes, emptied) => {
    const waiting: PhaseGate = { ...gate, wait_for: 'approval' }
    const phases = phasesOf(sizes, [waiting, gate, waiting])
    const pending = { 3: 2 }
    const given = { ...org, phases: { ...phases, pending } }
    const planned = planInclusion(given, [site({ phase_sizes: sizes })], { ...how, devices: [device('a', 2)] })
    const marked = { ...waiting, ...(emptied && { emptied }) }
    const [first, second, third = 0] = sizes
    expect(planned.phases).toEqual({
      sizes: [first, second, third + 1],
      gates: [marked, gate, waiting],
      pending: { 3: 3 },
    })
  })

  test('change no gate of downloads in whose phases they are not', () => {
    const loads = { ...phasesOf([0, 0], [{ ...gate, wait_for: 'approval' }, gate]), of: 'downloads' as const }
    const devices = [device('b', 1)]
    const planned = planInclusion({ ...org, downloads: loads }, [site({ downloads })], { ...how, devices })
    expect(planned.downloads).toEqual({ sizes: [0, 0], gates: loads.gates, pending: { 2: 0 } })
  })

  test('count for their site and for the whole upgrade, and change no other site', () => {
    const sites = [{ ...site(), id: 'other' }, site({ stages: false })]
    const { planned, targets, ...changed } = planInclusion({ ...org, planned: 7 }, sites, how)
    const { status, hold, currentPhase, phaseOpenedMs, downloads: loads, ...joined } = site()
    expect(changed.sites).toEqual([
      {
        ...{ id: 'u', status, hold, currentPhase, phaseOpenedMs, downloads: loads },
        plan: { ...joined.plan, phase_sizes: [1, 4], stages: true, planned: 5 },
        counts: { ...joined.counts, planned: 3 },
        total: 5,
      },
    ])
    expect(planned).toBe(10)
    expect(targets.map(({ ordinal, staged, state }) => [ordinal, staged, state])).toEqual(
      [3, 4, 5].map((ordinal) => [ordinal, false, 'planned']),
    )
  })

  test.each([
    [true, false, 1, true],
    [false, true, 2, true],
    [false, false, 1, false],
  ] as const)(
    'download before their reboot where devices do (%s) or they can (%s)',
    (...[stages, , steps, expected]) => {
      expect(placesOf({ stages }, { devices: [device('a', steps)] }).plan?.stages).toBe(expected)
    },
  )
})

describe('a site upgrade that has ended', () => {
  const hold = { by: 'user', reason: 'paused', since_s: 1, since_ms: 2 } as const
  const ended = { ...site(), status: 'completed', finishedAt: new Date(0) } as const
  const whole = { ...phasesOf([1, 1, 1], [gate, gate, gate]), current: 3 }
  const include = (more: Partial<IncludingSite>, phases: IncludingOrg['phases']) =>
    planInclusion({ ...org, hold, phases, downloads: phases }, [{ ...ended, ...more }], how).sites[0]

  test('continues in the phases of the whole upgrade and with its pause', () => {
    expect(include({}, whole)).toMatchObject({
      ...{ status: 'upgrading', hold, currentPhase: 3, phaseOpenedMs: NOW_MS },
      downloads: { current: 3, downloaded: { 1: 1, 2: 1 } },
    })
  })

  test('continues in its own phases if it has some', () => {
    expect(include({}, null)).toMatchObject({ status: 'upgrading', currentPhase: 2, downloads: { current: 2 } })
    expect(include({ downloads: null }, whole)).toMatchObject({ currentPhase: 3, downloads: null })
  })

  test('starts if it never had a device', () => {
    expect(include({ phaseOpenedMs: null }, whole)).toMatchObject({ status: 'queued', phaseOpenedMs: null })
  })
})
