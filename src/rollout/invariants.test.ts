// The properties of every upgrade. Those that need more than the decisions about one site are elsewhere: true counters and one
// flash per device in every round of `run()` here; a plan that is a partition, deterministic and equal to its preview in
// upgrades/wire-strategies.test.ts, upgrades/planning/plan-phases.test.ts and upgrades/previews/wire-preview.test.ts; batches without neighbors in
// upgrades/radio/plan-batches.test.ts; a device in one upgrade in plan-release.test.ts; pauses in decide-next.test.ts; two engines
// in test/rollout/crashes/two-engines.test.ts; phases of a whole upgrade, and gates that wait, in decide-org-phases.test.ts; starts that
// wait in decide-org-upgrade.test.ts; lost activations in
// decide-target-lost.test.ts.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Interventions, run } from '../../test/support/rollout-world/run.ts'
import {
  type Fate,
  type Simulated,
  comesBackLate,
  fates,
  serviceMs,
} from '../../test/support/rollout-world/simulated.ts'
import { EXCLUDED } from '../../test/support/rollout-world/exclude.ts'
import { type World, createWorld } from '../../test/support/rollout-world/world.ts'
import { findOpening } from '../orgs/windows/windows.ts'
import { awaitsImage } from './phases/decide-downloads.ts'
import { exceedsPercentage } from './stops/decide-stop.ts'
import { defaultRolloutOptions, isTerminal } from './rollout.ts'

/** Fleets, schedules and faults. Phases are those of shares and those of groups: any of them may be empty. */
const worlds = fc.record({
  phases: fc.array(fc.array(fc.constantFrom(...fates), { maxLength: 4 }), { minLength: 1, maxLength: 4 }),
  percent: fc.nat(100),
  staged: fc.constantFrom(
    () => false,
    () => true,
    (_: Fate, place: number) => place % 2 === 0,
  ),
  startS: fc.constantFrom(0, 45),
  rebootS: fc.constantFrom(0, 90),
  rollback: fc.boolean(),
  successPercent: fc.constantFrom(undefined, 60),
  windows: fc.constantFrom(undefined, undefined, undefined, [{ start: '00:02', end: '00:20' }]),
  endS: fc.constantFrom(undefined, undefined, 60, 150, 600),
  rank: fc.constantFrom(
    undefined,
    (place: number) => 1 + (place % 2),
    (place: number) => 3 - (place % 3),
  ),
  downloadPhase: fc.constantFrom(
    () => 0,
    (place: number) => 1 + (place % 3),
    (place: number) => 1 + (Math.floor(place / 2) % 3),
  ),
  oneStepDownloads: fc.boolean(),
})
type Given = typeof worlds extends fc.Arbitrary<infer T> ? T : never

const interventions = fc.record({
  cancelAtRound: fc.option(fc.nat(150), { nil: Infinity }),
  pauseAtRounds: fc.array(fc.nat(150), { maxLength: 3 }),
  exclusions: fc.array(fc.record({ round: fc.nat(150), place: fc.nat(15) }), { maxLength: 4 }),
})

/** Devices with one step are in phases of the downloads only where the reboots have none, and begin with them. */
function create({ phases, percent, staged, oneStepDownloads, ...given }: Given): World {
  const isFlat = oneStepDownloads && given.rebootS === 0
  return createWorld(isFlat ? [phases.flat()] : phases, percent, { ...given, stages: staged, oneStepDownloads: isFlat })
}

/** Checks each round of any upgrade, whatever people do during it. */
function always(check: Required<Interventions>['onRound']): void {
  fc.assert(
    fc.property(worlds, interventions, (given, people) => {
      run(create(given), { ...people, onRound: check })
    }),
    { numRuns: 40 },
  )
}

const isDown = (state: string): boolean => ['reboot_requested', 'rebooting', 'verifying'].includes(state)

test('no more devices are down than the open phase has, besides those that came back late or were lost', () => {
  always((_, { siteUpgrade, fleet }) => {
    const { currentPhase, plan } = siteUpgrade
    const down = fleet.filter(({ target, fate }) => isDown(target.state) && fate !== 'comes_late')
    expect(down.every(({ target }) => target.phase === currentPhase)).toBe(true)
    expect(down.length).toBeLessThanOrEqual(plan.phase_sizes?.[currentPhase - 1] ?? 0)
  })
})

test('no phase opens before its gate, nor does the gate pause: all of the phase before has ended, enough of it well, or a person resumed it', () => {
  always((before, { siteUpgrade, fleet }) => {
    const { currentPhase: phase, gatePassed, plan } = before
    const isPaused = siteUpgrade.hold?.by === 'gate' && siteUpgrade.hold.of === undefined && before.hold === null
    if (siteUpgrade.currentPhase === phase && !isPaused) return
    expect(siteUpgrade.currentPhase).toBe(isPaused ? phase : phase + 1)
    const targets = fleet.map(({ target }) => target).filter((target) => target.phase <= phase)
    expect(targets.every(({ state }) => isTerminal(state) || state === 'deferred')).toBe(true)
    const size = plan.phase_sizes?.[phase - 1] ?? 0
    if (isPaused || gatePassed >= phase || size === 0) return
    const failures = siteUpgrade.hardFailures[phase] ?? 0
    expect(exceedsPercentage(failures, plan.max_failure_percentage, size)).toBe(false)
    const upgraded = siteUpgrade.upgradedByPhase[phase] ?? 0
    expect(upgraded).toBeGreaterThan(0)
    expect(100 * upgraded).toBeGreaterThanOrEqual((plan.gates?.[phase - 1]?.min_success_percentage ?? 0) * size)
  })
})

test('no phase of the downloads opens before its gate, nor passes a device by that could download', () => {
  always(({ downloads: before, plan }, { siteUpgrade: { downloads }, fleet }) => {
    if (before === null || downloads === null || downloads.current === before.current) return
    const { current: phase, gate_passed: passed } = before
    expect(downloads.current).toBe(phase + 1)
    for (const { target, device, fate } of fleet) {
      if (target.downloadPhase === null || target.downloadPhase > phase) continue
      expect(awaitsImage(target)).toBe(false)
      if (fate !== 'comes_late' && target.state === 'deferred') expect(device.link).toBe('absent')
    }
    const size = plan.downloads?.phase_sizes[phase - 1] ?? 0
    if (passed >= phase || size === 0) return
    expect(exceedsPercentage(downloads.failures[phase] ?? 0, plan.max_failure_percentage, size)).toBe(false)
    expect(downloads.downloaded[phase] ?? 0).toBeGreaterThan(0)
  })
})

test('outside of the windows nothing begins, and no reboot that would not end in one; restores wait for none', () => {
  always(({ plan }, { now }, { orders }) => {
    const fromMs = now.getTime()
    for (const order of orders) {
      if (plan.windows === undefined || order === 'restore_backup') continue
      const needMs = order === 'stage' ? 0 : defaultRolloutOptions.rebootTimeoutMs.ap
      expect(findOpening(plan.windows, 'UTC', { fromMs, needMs })).toBe(fromMs)
    }
  })
})

test('from the end of an upgrade on nothing begins; restores do', () => {
  always(({ plan }, { now }, { orders }) => {
    if (now.getTime() / 1000 >= (plan.ends_s ?? Infinity))
      expect(orders.filter((order) => order !== 'restore_backup')).toEqual([])
  })
})

test('devices return to their backup version only if that is wanted, after a failure that counts once', () => {
  always((_, { siteUpgrade, fleet }) => {
    const failed = fleet.filter(
      ({ target: { state }, reason }) => state === 'rolling_back' || (state === 'failed' && reason !== 'offline'),
    )
    const counted = Object.values(siteUpgrade.hardFailures).reduce((sum, count) => sum + count, 0)
    expect(counted).toBe(failed.length)
    for (const { restored, fate } of fleet)
      if (restored > 0) expect([siteUpgrade.plan.rollback, comesBackLate(fate)]).toEqual([true, true])
  })
})

test('an upgrade that is not due does nothing unless a device has changed, and sleeps forever only while it is held', () => {
  const seen = new WeakMap<World, string>()
  always((before, world, { orders }) => {
    const { siteUpgrade, fleet } = world
    const facts = JSON.stringify(fleet.map(({ device, command, download }) => [device, command, download]))
    const isChanged = seen.get(world) !== facts
    seen.set(world, facts)
    if (!isChanged && before.dueMs !== null && before.dueMs > serviceMs(world.now)) expect(orders).toEqual([])
    if (siteUpgrade.hold === null && siteUpgrade.finishedAt === null) expect(siteUpgrade.dueMs).not.toBeNull()
  })
})

test('nothing is commanded before the start, nor rebooted before the reboot', () => {
  always((before, { now }, { orders }) => {
    if (now < before.startAt) expect(orders).toEqual([])
    if (now < before.rebootAt) expect(orders.every((order) => order === 'stage')).toBe(true)
  })
})

test('from the round on that stops it, an upgrade commands nothing, and what has ended never changes', () => {
  const ends = new WeakMap<World, Map<string, string>>()
  always((before, world, { orders }) => {
    if (before.stopping !== null || world.siteUpgrade.stopping !== null)
      expect(orders.filter((order) => order !== 'restore_backup')).toEqual([])
    const known = ends.get(world) ?? new Map<string, string>()
    ends.set(world, known)
    for (const { target } of world.fleet) {
      expect(known.get(target.deviceId) ?? target.state).toBe(target.state)
      if (isTerminal(target.state)) known.set(target.deviceId, target.state)
    }
  })
})

test('a device that was excluded is neither commanded nor flashed any more, whatever it was doing', () => {
  const flashes = new WeakMap<Simulated, number>()
  always((_, { fleet }, { commanded }) => {
    for (const one of fleet) {
      if (one.reason !== EXCLUDED) continue
      expect(commanded.map(({ deviceId }) => deviceId)).not.toContain(one.target.deviceId)
      expect(one.flashed).toBe(flashes.get(one) ?? one.flashed)
      flashes.set(one, one.flashed)
    }
  })
})

/** Returns after how many failures a limit stopped the upgrade; Infinity: none did. */
function failuresAtStop(given: Given): number {
  let failures = Infinity
  run(create(given), {
    onRound(_, { siteUpgrade: { stopReason, hardFailures } }) {
      if (stopReason !== null && failures === Infinity)
        failures = Object.values(hardFailures).reduce((sum, count) => sum + count, 0)
    },
  })
  return failures
}

test('a further failure never keeps an upgrade going that would have stopped, and a lower limit stops it no later', () => {
  const cases = fc.record({ given: worlds, lower: fc.nat(100), phase: fc.nat(3), place: fc.nat(3) })
  fc.assert(
    fc.property(cases, ({ given, lower, phase, place }) => {
      const failures = failuresAtStop(given)
      const stricter = { ...given, percent: Math.min(given.percent, lower) }
      expect(failuresAtStop(stricter)).toBeLessThanOrEqual(failures)
      const worse = given.phases.map((all, index) =>
        all.map((fate, at): Fate => (index === phase && at === place ? 'refuses' : fate)),
      )
      if (failures < Infinity) expect(failuresAtStop({ ...given, phases: worse })).toBeLessThan(Infinity)
    }),
    { numRuns: 40 },
  )
})

test('the same fleet ends the same way twice', () => {
  fc.assert(
    fc.property(worlds, interventions, (given, people) => {
      const ended = (): unknown => {
        const world = create(given)
        run(world, people)
        return [world.siteUpgrade, world.fleet.map(({ target, flashed }) => [target.state, target.attempt, flashed])]
      }
      expect(ended()).toEqual(ended())
    }),
    { numRuns: 20 },
  )
})
