import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Fate, type Interventions, type World, createWorld, fates, run } from '../../test/support/rollout-world.ts'
import { exceedsPercentage } from './decide-stop.ts'
import { isTerminal } from './rollout.ts'

/** Fleets, schedules and faults. */
const worlds = fc.record({
  phases: fc.array(fc.array(fc.constantFrom(...fates), { maxLength: 4 }), { minLength: 1, maxLength: 4 }),
  percent: fc.nat(100),
  staged: fc.boolean(),
  startS: fc.constantFrom(0, 45),
  rebootS: fc.constantFrom(0, 90),
})
type Given = typeof worlds extends fc.Arbitrary<infer T> ? T : never

const interventions = fc.record({
  cancelAtRound: fc.option(fc.nat(150), { nil: Infinity }),
  pauseAtRounds: fc.array(fc.nat(150), { maxLength: 3 }),
})

const create = ({ phases, percent, staged, startS, rebootS }: Given): World =>
  createWorld(phases, percent, { stages: () => staged, startS, rebootS })

/** Checks each round of any upgrade, whatever people do meanwhile. */
function always(check: Required<Interventions>['onRound']): void {
  fc.assert(
    fc.property(worlds, interventions, (given, people) => {
      run(create(given), { ...people, onRound: check })
    }),
    { numRuns: 60 },
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

test('no phase opens before its gate: all of the phase before has ended, enough of it well, or a person resumed it', () => {
  always((before, { siteUpgrade, fleet }) => {
    const { currentPhase: phase, gatePassed, plan } = before
    if (siteUpgrade.currentPhase === phase) return
    expect(siteUpgrade.currentPhase).toBe(phase + 1)
    const targets = fleet.map(({ target }) => target).filter((target) => target.phase <= phase)
    expect(targets.every(({ state }) => isTerminal(state) || state === 'deferred')).toBe(true)
    const size = plan.phase_sizes?.[phase - 1] ?? 0
    if (gatePassed >= phase || size === 0) return
    const failures = siteUpgrade.hardFailures[phase] ?? 0
    expect(exceedsPercentage(failures, plan.max_failure_percentage, size)).toBe(false)
    expect(siteUpgrade.upgradedByPhase[phase] ?? 0).toBeGreaterThan(0)
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
    if (before.stopping !== null || world.siteUpgrade.stopping !== null) expect(orders).toEqual([])
    const known = ends.get(world) ?? new Map<string, string>()
    ends.set(world, known)
    for (const { target } of world.fleet) {
      expect(known.get(target.deviceId) ?? target.state).toBe(target.state)
      if (isTerminal(target.state)) known.set(target.deviceId, target.state)
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
