import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { countStates, round } from '../../../test/support/rollout-world/round.ts'
import { resume, run } from '../../../test/support/rollout-world/run.ts'
import { type Fate, fates, live, start } from '../../../test/support/rollout-world/simulated.ts'
import { type World, createWorld } from '../../../test/support/rollout-world/world.ts'
import { exceedsPercentage } from '../stops/decide-stop.ts'
import { isTerminal } from '../rollout.ts'

const phases = fc.array(fc.array(fc.constantFrom(...fates), { maxLength: 6 }), { minLength: 1, maxLength: 4 })

/** Fleets whose devices upgrade in one step, or download separately from their reboot, or a mix of both. */
const kinds = fc.record({
  stages: fc.constantFrom(
    () => false,
    () => true,
    (_: Fate, place: number) => place % 2 === 0,
  ),
  rebootS: fc.constantFrom(0, 90),
  rollback: fc.boolean(),
  oneStepDownloads: fc.boolean(),
  windows: fc.constantFrom(undefined, undefined, undefined, [{ start: '00:02', end: '00:20' }]),
  rank: fc.constantFrom(
    undefined,
    (place: number) => 1 + (place % 2),
    (place: number) => 3 - (place % 3),
  ),
  downloadPhase: fc.constantFrom(
    () => 0,
    () => 1,
    (place: number) => 1 + (place % 3),
    (place: number) => 3 - (place % 3),
  ),
})

/** The status of an upgrade that nothing has stopped. */
function unstoppedStatus({ fleet }: World): string {
  return fleet.length > 0 && fleet.every(({ target }) => target.state === 'failed') ? 'failed' : 'completed'
}

describe('an upgrade of any fleet', () => {
  test('ends, in order, without a second flash, and with true counts', () => {
    fc.assert(
      fc.property(phases, fc.nat(100), kinds, (fatesByPhase, percent, kind) => {
        const world = createWorld(fatesByPhase, percent, kind)
        run(world)
        const failures = Object.values(world.siteUpgrade.hardFailures).reduce((sum, count) => sum + count, 0)
        expect(world.siteUpgrade.status).toBe(
          exceedsPercentage(failures, percent, world.fleet.length) ? 'failed' : unstoppedStatus(world),
        )
        for (const { fate, target } of world.fleet) {
          if (target.state === 'cancelled') continue
          const upgraded = ['good', 'lost_early', 'lost_late', 'lost_bytes', 'comes_late'].includes(fate)
          expect(`${fate} ${target.state}`).toBe(`${fate} ${upgraded ? 'upgraded' : 'failed'}`)
        }
      }),
    )
  })

  test('ends soon after it is cancelled, and what was under way has ended too', () => {
    fc.assert(
      fc.property(phases, fc.nat(120), kinds, (fatesByPhase, cancelAtRound, kind) => {
        const world = createWorld(fatesByPhase, 100, kind)
        run(world, { cancelAtRound })
        expect([unstoppedStatus(world), 'cancelled']).toContain(world.siteUpgrade.status)
        expect(world.fleet.every(({ target }) => isTerminal(target.state))).toBe(true)
      }),
    )
  })
})

test('an upgrade that is paused at any times ends as one that is not', () => {
  fc.assert(
    fc.property(phases, fc.array(fc.nat(120), { maxLength: 5 }), kinds, (fatesByPhase, pauseAtRounds, kind) => {
      const [plain, paused] = [createWorld(fatesByPhase, 100, kind), createWorld(fatesByPhase, 100, kind)]
      run(plain)
      run(paused, { pauseAtRounds })
      expect(paused.siteUpgrade.status).toBe(unstoppedStatus(plain))
      expect(countStates(paused.fleet)).toEqual(countStates(plain.fleet))
    }),
  )
})

test('a gate holds where too many of a phase failed, until the upgrade is resumed', () => {
  const good = Array.from({ length: 98 }, (): Fate => 'good')
  const world = createWorld([['refuses', 'good'], good], 5)
  for (let rounds = 0; world.siteUpgrade.hold === null && rounds < 100; rounds += 1) {
    round(world)
    for (const one of world.fleet) live(one, world.now)
    world.now = new Date(world.now.getTime() + 1000)
  }
  expect(world.siteUpgrade).toMatchObject({
    currentPhase: 1,
    dueMs: null,
    status: 'upgrading',
    hold: { by: 'gate', reason: '1 of 2 devices of phase 1 failed, more than 5 %' },
  })
  world.now = new Date(world.now.getTime() + 3600e3)
  expect(round(world).commanded).toEqual([])
  resume(world)
  run(world)
  expect(world.siteUpgrade).toMatchObject({ status: 'completed', counts: { upgraded: 99, failed: 1 } })
})

test('a held upgrade that is cancelled ends', () => {
  const world = createWorld([['good'], ['good']], 5)
  world.siteUpgrade = { ...world.siteUpgrade, hold: { by: 'user', reason: 'paused', since_s: 0, since_ms: 0 } }
  expect(round(world).commanded).toEqual([])
  expect(world.siteUpgrade).toMatchObject({ dueMs: null, phaseOpenedMs: null })
  world.siteUpgrade = { ...world.siteUpgrade, stopping: 'cancelled', hold: null }
  run(world)
  expect(world.siteUpgrade).toMatchObject({ status: 'cancelled', counts: { cancelled: 2 } })
})

test('nothing happens before the later of start and reboot', () => {
  const world = createWorld([['good']], 5)
  const rebootAt = new Date(start.getTime() + 3600e3)
  world.siteUpgrade = { ...world.siteUpgrade, rebootAt }
  expect(round(world).commanded).toEqual([])
  expect(world.siteUpgrade).toMatchObject({ status: 'queued', dueMs: 3600e3 })
  world.now = rebootAt
  expect(round(world).commanded).toHaveLength(1)
  expect(world.siteUpgrade.status).toBe('downloading')
})

describe('devices that download apart from their reboot', () => {
  const second = (world: World): readonly string[] => {
    const { orders } = round(world)
    for (const one of world.fleet) live(one, world.now)
    world.now = new Date(world.now.getTime() + 1000)
    return orders
  }

  test('download with the start, wait with the image, and activate it with the reboots', () => {
    const world = createWorld([['good']], 5, { stages: () => true, rebootS: 60 })
    expect(second(world)).toEqual(['stage'])
    expect(world.siteUpgrade.status).toBe('downloading')
    const until = (seconds: number): readonly string[] => {
      const orders: string[] = []
      while (world.now.getTime() < start.getTime() + seconds * 1000) orders.push(...second(world))
      return orders
    }
    expect(until(60)).toEqual([])
    expect(world.siteUpgrade).toMatchObject({ status: 'downloaded', counts: { downloaded: 1 }, dueMs: 60_000 })
    expect(second(world)).toEqual(['activate'])
    expect(world.siteUpgrade).toMatchObject({ status: 'upgrading', counts: { reboot_requested: 1 } })
    expect(until(120)).toEqual([])
    expect(world.siteUpgrade).toMatchObject({ status: 'completed', counts: { upgraded: 1 } })
  })

  test('are looked at again at once when they have downloaded and may reboot', () => {
    const world = createWorld([['good']], 5, { stages: () => true })
    while (world.siteUpgrade.counts.downloaded === 0) second(world)
    expect(world.siteUpgrade).toHaveProperty('dueMs', world.now.getTime() - start.getTime() - 1000)
    expect(second(world)).toEqual(['activate'])
  })

  test('let those that do it in one step wait for the reboots', () => {
    const world = createWorld([['good', 'good']], 5, { stages: (_, place) => place === 0, rebootS: 60 })
    expect(second(world)).toEqual(['stage'])
    while (world.now < world.siteUpgrade.rebootAt) expect(second(world)).toEqual([])
    expect(second(world)).toEqual(['activate', 'upgrade'])
  })

  test('are not given up before the reboots have begun, however late these are', () => {
    const world = createWorld([['good', 'absent']], 100, { stages: () => true, rebootS: 100 * 3600 })
    while (world.siteUpgrade.counts.downloaded === 0) second(world)
    world.now = new Date(start.getTime() + 99 * 3600e3)
    second(world)
    world.now = world.siteUpgrade.rebootAt
    for (let seconds = 0; seconds < 60; seconds += 1) second(world)
    expect(world.siteUpgrade).toMatchObject({ finishedAt: null, counts: { upgraded: 1, deferred: 1 } })
    run(world)
    expect(world.siteUpgrade).toMatchObject({ status: 'completed', counts: { upgraded: 1, failed: 1 } })
  })

  test('stop without a trace when the upgrade is cancelled while they wait', () => {
    const world = createWorld([['good', 'good']], 5, { stages: () => true, rebootS: 60 })
    while (world.siteUpgrade.counts.downloaded < 2) second(world)
    world.siteUpgrade = { ...world.siteUpgrade, stopping: 'cancelled' }
    run(world)
    expect(world.siteUpgrade).toMatchObject({ status: 'cancelled', counts: { cancelled: 2 } })
    expect(world.fleet.map(({ flashed }) => flashed)).toEqual([0, 0])
  })
})

test('of 100 devices the fifth failure continues and the sixth stops', () => {
  const fleetOf = (failing: number): Fate[] =>
    Array.from({ length: 100 }, (_, index) => (index < failing ? 'refuses' : 'good'))
  const five = createWorld([fleetOf(5)], 5)
  run(five)
  expect(five.siteUpgrade).toMatchObject({ status: 'completed', counts: { failed: 5, upgraded: 95 } })
  const six = createWorld([fleetOf(6), ['good', 'good']], 5)
  six.siteUpgrade = { ...six.siteUpgrade, plan: { ...six.siteUpgrade.plan, planned: 100 } }
  run(six)
  expect(six.siteUpgrade).toMatchObject({
    status: 'failed',
    stopReason: 'more than 5 % of 100 devices failed',
    counts: { cancelled: 2 },
  })
})

test('an upgrade without targets in a phase goes on to the next', () => {
  const world = createWorld([[], ['good'], [], ['good']], 5)
  run(world)
  expect(world.siteUpgrade).toMatchObject({ status: 'completed', currentPhase: 4, counts: { upgraded: 2 } })
})
