import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Fate, type World, newWorld, round, run } from '../../../test/support/fleets/mxedge-fleet.ts'

const statesOf = ({ fleet }: World) => fleet.map(({ target }) => target.state)
const commandedIn = (world: World) => round(world).map(({ target }) => target.mxedgeId)

describe('an upgrade', () => {
  test('waits for its start, and continues if the clock is set back behind it', () => {
    const world = newWorld([{}])
    world.upgrade = { ...world.upgrade, startAt: new Date(world.now.getTime() + 60_000) }
    expect([commandedIn(world), world.upgrade.status]).toEqual([[], 'queued'])
    world.now = world.upgrade.startAt
    expect([commandedIn(world), world.upgrade.status]).toEqual([['0'], 'upgrading'])
    world.now = new Date(world.now.getTime() - 3_600_000)
    expect(round(world).length).toBe(0)
    expect(world.upgrade.status).toBe('upgrading')
  })

  test('without targets is completed at its start', () => {
    const world = newWorld([])
    round(world)
    expect(world.upgrade).toMatchObject({ status: 'completed', finishedAt: world.now })
  })

  test('opens a phase when the one before has ended', () => {
    const world = newWorld([{ phase: 1 }, { phase: 2 }, { phase: 2 }])
    expect(commandedIn(world)).toEqual(['0'])
    run(world)
    expect(world.upgrade.status).toBe('completed')
    expect(world.order).toEqual(['0', '1', '2'])
  })

  test('opens the waves of a phase one after the other', () => {
    const world = newWorld([{ wave: 1 }, { wave: 2 }, { wave: 1 }])
    expect(commandedIn(world)).toEqual(['0', '2'])
    expect(commandedIn(world)).toEqual([])
    run(world)
    expect(world.order).toEqual(['0', '2', '1'])
  })

  test('lets every wave of the open phase download, and install one after the other', () => {
    const traits = { canStage: true, services: 2 }
    const world = newWorld([
      { ...traits, wave: 1 },
      { ...traits, wave: 2 },
      { ...traits, phase: 2 },
    ])
    expect(commandedIn(world)).toEqual([])
    expect(statesOf(world)).toEqual(['downloading', 'downloading', 'planned'])
    run(world)
    expect(statesOf(world)).toEqual(['upgraded', 'upgraded', 'upgraded'])
    expect(world.order).toEqual(['0', '1', '2'])
  })

  test('that is cancelled while its appliances download leaves them as they are', () => {
    const world = newWorld([
      { canStage: true, services: 3 },
      { canStage: true, wave: 2 },
    ])
    run(world, { cancelAtRound: 5 })
    expect(statesOf(world)).toEqual(['cancelled', 'cancelled'])
    expect(world.fleet.map(({ effects }) => effects.size)).toEqual([0, 0])
  })

  test('is not delayed by an absent appliance, which follows when it is back', () => {
    const world = newWorld([{ phase: 1, fate: 'absent' }, { phase: 2 }])
    run(world, { backAtRound: 250 })
    expect(statesOf(world)).toEqual(['upgraded', 'upgraded'])
    expect(world.order).toEqual(['1', '0'])
  })

  test('gives up an absent appliance in the end, which is not a failure of the upgrade', () => {
    const world = newWorld([{ phase: 1 }, { phase: 1, fate: 'absent' }])
    run(world)
    expect(world.fleet[1]?.target).toMatchObject({ state: 'failed' })
    expect(world.upgrade).toMatchObject({ status: 'completed', hardFailures: {} })
  })

  test('never has two members of a cluster in flight, nor one beside that of another upgrade', () => {
    const world = newWorld([{ clusterId: 'c' }, { clusterId: 'c' }, { clusterId: 'd' }])
    world.busyClusters = new Set(['d'])
    expect(commandedIn(world)).toEqual(['0'])
    world.busyClusters = new Set()
    run(world)
    expect(world.upgrade.status).toBe('completed')
  })

  test('stops at more failures than tolerated, in the round that sees them', () => {
    const world = newWorld([{ phase: 1, fate: 'refuses' }, { phase: 2 }], { max_failure_percentage: 5 })
    run(world)
    expect(statesOf(world)).toEqual(['failed', 'cancelled'])
    expect(world.upgrade).toMatchObject({ status: 'failed', stopReason: 'more than 5 % of 2 edge appliances failed' })
  })

  test('stops at more failures in a phase than its gate allows', () => {
    const gate = { max_failures: 0, max_failure_percentage: null, min_upgraded: 0 }
    const world = newWorld([{ phase: 1, fate: 'refuses' }, { phase: 1 }, { phase: 2 }], { gates: [gate, gate] })
    run(world)
    expect(world.upgrade).toMatchObject({ status: 'failed', stopReason: 'more than 0 failures in phase 1' })
    expect(statesOf(world)).toEqual(['failed', 'upgraded', 'cancelled'])
  })

  test('is held after a phase without a success, and continues when it is resumed', () => {
    const gate = { max_failures: null, max_failure_percentage: 5, min_upgraded: 1 }
    const fleet = [{ phase: 1, fate: 'refuses' as const }, ...Array.from({ length: 30 }, () => ({ phase: 2 }))]
    const world = newWorld(fleet, { gates: [gate, gate], max_failure_percentage: 5 })
    run(world, { resume: false })
    expect(world.upgrade.hold).toMatchObject({
      by: 'gate',
      reason: '1 of 1 edge appliances of phase 1 failed, more than 5 %',
    })
    run(world)
    expect(world.upgrade).toMatchObject({ status: 'completed', hold: null })
  })

  test('ends as failed where nothing worked', () => {
    const world = newWorld([{ fate: 'refuses' }])
    run(world)
    expect(world.upgrade).toMatchObject({ status: 'failed', stopReason: null })
  })

  test('that is cancelled sends no command, and lets those in flight end', () => {
    const world = newWorld([{ wave: 1 }, { wave: 2 }, { phase: 2 }])
    run(world, { cancelAtRound: 3 })
    expect(statesOf(world)).toEqual(['upgraded', 'cancelled', 'cancelled'])
    expect(world.upgrade.status).toBe('cancelled')
  })
})

/** The start of the world. */
const startS = Date.UTC(2026, 2, 1) / 1000
const stopReason = 'ended at its end_time, 2026-03-01T00:00:03.000Z'

describe('an upgrade at its end', () => {
  test('sends no command, and lets those in flight end', () => {
    const world = newWorld([{ wave: 1 }, { wave: 2 }, { phase: 2 }], { ends_s: startS + 3 })
    run(world)
    expect(statesOf(world)).toEqual(['upgraded', 'cancelled', 'cancelled'])
    expect(world.upgrade).toMatchObject({ status: 'cancelled', stopReason })
  })

  test('leaves appliances that download or have downloaded, and stops others between their steps', () => {
    const traits = { canStage: true, services: 3 }
    const loading = newWorld([traits, { canStage: true, wave: 2 }], { ends_s: startS + 5 })
    run(loading)
    expect(statesOf(loading)).toEqual(['cancelled', 'cancelled'])
    expect(loading.fleet.map(({ effects }) => effects.size)).toEqual([0, 0])
    const between = newWorld([{ services: 3 }], { ends_s: startS + 3 })
    run(between)
    expect(between.fleet[0]).toMatchObject({
      target: { state: 'cancelled', step: 1 },
      effects: new Map([['service-0', 1]]),
    })
  })

  test('has the results of its appliances if the last ones were in flight, and no reason of a stop', () => {
    const [good, bad] = (['works', 'refuses'] as const).map((fate) => newWorld([{ fate }], { ends_s: startS + 3 }))
    for (const world of [good, bad]) if (world !== undefined) run(world)
    expect(good?.upgrade).toMatchObject({ status: 'completed', stopping: null, stopReason: null })
    expect(bad?.upgrade).toMatchObject({ status: 'cancelled', stopReason })
  })

  test.each(['user', 'gate'] as const)('ends the wait for a person: %s', (by) => {
    const world = newWorld([{}, { phase: 2 }], { ends_s: startS + 3 })
    world.upgrade = { ...world.upgrade, hold: { by, reason: 'waits', since_s: startS, since_ms: world.nowMs } }
    world.now = new Date(1000 * (startS + 3))
    // Only the second one has the appliances of the phases that were not open.
    for (let rounds = 0; rounds < 2; rounds += 1) round(world)
    expect(world.upgrade).toMatchObject({ status: 'cancelled', stopReason, hold: null })
    expect(statesOf(world)).toEqual(['cancelled', 'cancelled'])
  })

  test('awaits no absent appliance, and no window', () => {
    const windows = [{ site_id: null, timezone: 'UTC', windows: [{ start: '22:00', end: '23:00' }] }]
    const worlds = [
      newWorld([{ fate: 'absent' }], { ends_s: startS + 3 }),
      newWorld([{}], { ends_s: startS + 3, windows }),
    ]
    for (const world of worlds) {
      run(world)
      expect(world.upgrade).toMatchObject({ status: 'cancelled', stopReason, waitsUntil: null })
    }
  })
})

const fates: readonly Fate[] = ['works', 'works', 'works', 'refuses', 'loses', 'vanishes', 'ignores', 'absent', 'flaps']
const member = fc.record({
  phase: fc.integer({ min: 1, max: 3 }),
  wave: fc.integer({ min: 1, max: 2 }),
  fate: fc.constantFrom(...fates),
  clusterId: fc.constantFrom(null, null, 'c', 'd'),
  services: fc.integer({ min: 1, max: 3 }),
  canStage: fc.boolean(),
})
const percent = fc.constantFrom(null, 0, 20, 100)

describe('an upgrade of any fleet', () => {
  const traits = fc.record({ cancelAtRound: fc.option(fc.nat(200)), pauseAtRound: fc.option(fc.nat(60)) })
  const end = fc.constantFrom({}, { ends_s: startS + 10 }, { ends_s: startS + 60 })
  test('ends, in order, with true counts and without a second effect of a step', () => {
    fc.assert(
      fc.property(
        fc.array(member, { maxLength: 12 }),
        percent,
        end,
        traits,
        (fleet, max_failure_percentage, ends, when) => {
          const world = newWorld(fleet, { max_failure_percentage, ...ends })
          // The run checks the rules in every round.
          run(world, when)
          expect(world.upgrade.finishedAt).not.toBeNull()
        },
      ),
      { numRuns: 150 },
    )
  })

  test('begins with appliances only within the windows of their site, and ends', () => {
    const windows = fc.constantFrom(['00:10', '01:45'], ['22:00', '01:30'], ['03:00', '06:00'], ['00:00', '24:00'])
    fc.assert(
      fc.property(fc.array(member, { maxLength: 5 }), windows, (fleet, [start = '', end = '']) => {
        const places = [{ site_id: null, timezone: 'UTC', windows: [{ start, end }] }]
        const world = newWorld(fleet, { windows: places })
        run(world)
        expect(world.upgrade.finishedAt).not.toBeNull()
      }),
      { numRuns: 6 },
    )
  })

  test('that is paused ends as one that is not', () => {
    const steady = fc.record({
      phase: fc.integer({ min: 1, max: 3 }),
      fate: fc.constantFrom<Fate>('works', 'refuses'),
      canStage: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(steady, { maxLength: 8 }), fc.nat(60), (fleet, pauseAtRound) => {
        const [free, paused] = [newWorld(fleet), newWorld(fleet)]
        run(free)
        run(paused, { pauseAtRound })
        expect(statesOf(paused)).toEqual(statesOf(free))
      }),
      { numRuns: 60 },
    )
  })
})
