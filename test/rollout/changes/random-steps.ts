// What happens in the random test of upgrades: changes by people, what devices reply, and time that passes.
import fc from 'fast-check'
import { START_PHASE, type UpgradeKind } from '../../../src/rollout/rollout.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import { NEW, OLD, type Reply } from '../../support/fleets/fleet.ts'

export const DEVICES = 6

/** Times are in seconds after the creation; see atTimes(). */
const gates = fc.constantFrom<NonNullable<OrgUpgradeBody['phase_gates']>>(
  [{ phase: START_PHASE, wait_for: 'approval' }],
  [{ phase: 1, wait_for: 'approval' }],
  [{ phase: 1, wait_for: 'pause' }],
  [{ phase: 1, wait_for: 'time', minutes: 30 }],
  [{ phase: 1, wait_for: 'time', not_before: 300 }],
  [{ phase: 1, wait_for: 'approval', not_before: 36_000 }],
)
const limits = fc.record(
  {
    version: fc.constantFrom(NEW, NEW, OLD),
    force: fc.boolean(),
    supersede: fc.boolean(),
    include_new: fc.boolean(),
    rollback_on_failure: fc.boolean(),
    max_in_flight: fc.constantFrom(1, 2),
    max_downloads_per_site: fc.constant(1),
    failure_budget: fc.constantFrom(0, 2),
    end_time: fc.constantFrom(300, 36_000),
    maintenance_windows: fc.constantFrom<NonNullable<OrgUpgradeBody['maintenance_windows']>>(
      [],
      [{ start: '11:00', end: '13:30' }],
      [
        { start: '13:00', end: '18:00' },
        { start: '20:00', end: '03:00' },
      ],
    ),
  },
  { requiredKeys: ['version'] },
)
const bodies = fc.tuple(
  limits,
  fc.oneof(
    fc.record({ strategy: fc.constantFrom('big_bang', 'serial') }),
    fc.record({
      strategy: fc.constant('canary'),
      canary_phases: fc.constantFrom<number[]>([50, 100], [20, 60, 100]),
      max_failure_percentage: fc.constantFrom(30, 100),
      phase_gates: gates,
    }),
  ),
)

const some = fc.uniqueArray(fc.nat(DEVICES - 1), { minLength: 1, maxLength: 3 })
const which = fc.nat(2)
/** `which`: the upgrade, counted from the newest one. `site`: the third one is none, from which devices join later. */
const changes = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('create' as const), body: bodies }) },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constantFrom('pause', 'resume', 'approve', 'retry', 'cancel' as const),
      which,
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('exclude' as const), which, some }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('move' as const), some, site: fc.nat(2) }) },
)
const replies = fc.array(
  fc.constantFrom<Reply>(
    'upgrades',
    'upgrades',
    'upgrades',
    'keeps_old',
    'refuses',
    'refuses_content',
    'loses_early',
    'dies',
  ),
  { minLength: DEVICES, maxLength: DEVICES },
)
const events = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('round' as const), replies }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('wait' as const), minutes: fc.constantFrom(1, 20, 600) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('switch' as const), some }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('restart' as const) }) },
)
export const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.tuple(changes) },
    { weight: 4, arbitrary: fc.tuple(events) },
    { weight: 1, arbitrary: fc.tuple(changes, changes) },
    { weight: 1, arbitrary: fc.tuple(changes, fc.record({ does: fc.constant('advance' as const) })) },
  ),
  { minLength: 15, maxLength: 25, size: 'max' },
)
export type BodyOf = typeof bodies extends fc.Arbitrary<infer T> ? T : never
export type Change = typeof changes extends fc.Arbitrary<infer T> ? T : never
export type Step = (typeof steps extends fc.Arbitrary<(infer T)[]> ? T : never)[number]

export const kinds = fc.constantFrom<UpgradeKind>('device', 'device', 'ssr')
