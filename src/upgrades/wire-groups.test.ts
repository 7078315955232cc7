import { Value } from 'typebox/value'
import { expect, test } from 'vitest'
import { planAtOnce } from './planning/plan-phases.ts'
import type { TargetFacts } from './strategies/strategy.ts'
import { parseOrgUpgrade } from './wire-parse.ts'
import { OrgUpgradeBody } from './wire.ts'

const LAB = '11111111-1111-4111-8111-111111111111'
const EUROPE = '22222222-2222-4222-8222-222222222222'
const BERLIN = '33333333-3333-4333-8333-333333333333'
const TOKYO = '44444444-4444-4444-8444-444444444444'

function device(name: string, siteId: string, more: Partial<TargetFacts> = {}): TargetFacts {
  const facts = { model: 'AP-1', role: null, memberVersions: [], fromVersion: '1.0', connected: true }
  return { ...facts, mac: name, name, siteId, type: 'ap', ...more }
}

const devices = [
  device('lab-1', BERLIN),
  device('hall-1', BERLIN),
  device('lab-2', TOKYO),
  device('hall-2', TOKYO, { model: 'AP-2' }),
]
const facts = { upgradeId: 'u', siteGroups: new Map([[BERLIN, [EUROPE]]]) }

function phasingOf(body: Readonly<Record<string, unknown>>) {
  const whole = { strategy: 'canary', ...body }
  expect([...Value.Errors(OrgUpgradeBody, whole)]).toEqual([])
  return parseOrgUpgrade(Value.Decode(OrgUpgradeBody, whole)).phasing
}
const planOf = (canary_groups: readonly object[]) =>
  planAtOnce(phasingOf({ canary_groups }), devices, facts).map((phase) => phase.map(({ mac }) => mac).toSorted())

test.each([
  [
    [{ sitegroup_ids: [LAB, EUROPE] }],
    [
      ['hall-1', 'lab-1'],
      ['hall-2', 'lab-2'],
    ],
  ],
  [
    [{ site_ids: [TOKYO.toUpperCase()] }],
    [
      ['hall-2', 'lab-2'],
      ['hall-1', 'lab-1'],
    ],
  ],
  [
    [{ rules: [{ 'match_name[0:3]': 'lab' }] }],
    [
      ['lab-1', 'lab-2'],
      ['hall-1', 'hall-2'],
    ],
  ],
  [
    [
      { rules: [{ 'match_name[0:3]': 'lab' }], site_ids: [BERLIN] },
      { rules: [{ match_model: 'AP-2' }] },
      { sitegroup_ids: [EUROPE] },
    ],
    [['lab-1'], ['hall-2'], ['hall-1'], ['lab-2']],
  ],
])(
  'with the groups %j, each device is in the phase of its first group, and the rest in a last one',
  (groups, phases) => {
    expect(planOf(groups)).toEqual(phases)
  },
)

test('a group that gets no device is refused', () => {
  const refuse = (canary_groups: readonly object[]) => () => [
    ...(phasingOf({ canary_groups }).refuseDevicesInSteps?.(devices, facts) ?? []),
  ]
  expect(refuse([{ site_ids: [BERLIN] }])).not.toThrow()
  expect(refuse([{ site_ids: [BERLIN] }, { sitegroup_ids: [LAB] }])).toThrow('Invalid field canary_groups.1: ')
  expect(refuse([{ sitegroup_ids: [EUROPE] }, { site_ids: [BERLIN] }])).toThrow(
    'Invalid field canary_groups.1: selects only devices that earlier groups have',
  )
  expect(refuse([{ rules: [{ match_name: 'lab-1' }] }, { site_ids: [BERLIN] }])).not.toThrow()
})

test('devices are compared with groups in short steps, because a group may have a hundred rules', () => {
  const many = Array.from({ length: 1000 }, (_, index) => device(`hall-${index}`, BERLIN))
  const phasing = phasingOf({
    canary_groups: [{ rules: [{ match_name: 'lab-1' }] }, { site_ids: [BERLIN] }],
  })
  const least = Math.floor(many.length / 32)
  expect([...phasing.planInSteps(many, facts)].length).toBeGreaterThanOrEqual(least)
  let steps = 0
  expect(() => {
    for (const _ of phasing.refuseDevicesInSteps?.(many, facts) ?? []) steps += 1
  }).toThrow('Invalid field canary_groups.0: selects none of the 1000 devices')
  expect(steps).toBeGreaterThanOrEqual(2 * least)
})

test.each([
  [{ canary_groups: [{}] }, 'canary_groups.0'],
  [{ canary_groups: [{ rules: [{ match_color: 'red' }] }] }, 'canary_groups.0.rules.0.match_color'],
  [{ canary_groups: [{ site_ids: [BERLIN] }], canary_sites: [1] }, 'canary_groups'],
  [{ canary_groups: [{ site_ids: [BERLIN] }], canary_phases: [50] }, 'canary_groups'],
  [{ canary_groups: [{ site_ids: [BERLIN] }], strategy: 'serial' }, 'canary_groups'],
])('%j is refused', (body, field) => {
  expect(() => phasingOf(body)).toThrow(`Invalid field ${field}: `)
})

test('each group has its limit and its gate', () => {
  const groups = [{ site_ids: [BERLIN] }, { site_ids: [TOKYO] }]
  const gates = [{ phase: 2, wait_for: 'approval' }]
  const phasing = phasingOf({ canary_groups: groups, max_failures: [1, 2], phase_gates: gates })
  expect([1, 2, 3].map((phase) => phasing.gate(phase)?.max_failures)).toEqual([1, 2, 2])
  expect([1, 2, 3].map((phase) => phasing.gate(phase)?.wait_for)).toEqual([undefined, 'approval', undefined])
  expect(() => phasingOf({ canary_groups: groups, max_failures: [1] })).toThrow('Invalid field max_failures: ')
})

test.each(['serial', 'rrm'])(
  'batches of %s are held where too small a share was upgraded, if that is asked for',
  (strategy) => {
    expect(phasingOf({ strategy, min_success_percentage: 80 }).gate(1)).toEqual({
      ...{ max_failures: null, max_failure_percentage: null, min_upgraded: 0 },
      min_success_percentage: 80,
    })
    expect(phasingOf({ strategy }).gate(1)).toBeNull()
    expect(() => phasingOf({ strategy: 'big_bang', min_success_percentage: 80 })).toThrow('min_success_percentage')
  },
)
