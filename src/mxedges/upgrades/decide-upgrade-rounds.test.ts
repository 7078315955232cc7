import { describe, expect, test } from 'vitest'
import { type MemberTraits, type World, newWorld, round, run } from '../../../test/support/fleets/mxedge-fleet.ts'
import { command, options } from '../../../test/support/fleets/mxedge-targets.ts'
import { epochS } from '../../platform/time/clock.ts'
import { decideUpgrade } from './decide-upgrade.ts'
import type { MxedgeTargetNow } from './target.ts'

const DAY_MS = 86_400_000
const statesOf = ({ fleet }: World) => fleet.map(({ target }) => target.state)

function pass(world: World, ms: number): void {
  world.now = new Date(world.now.getTime() + ms)
  world.nowMs += ms
}

function change(world: World, more: Partial<World['upgrade']>): void {
  world.upgrade = { ...world.upgrade, ...more }
}

function changeTarget(world: World, index: number, more: Partial<MxedgeTargetNow>): void {
  const one = world.fleet[index]
  if (one !== undefined) one.target = { ...one.target, ...more }
}

const decisionOf = ({ upgrade, fleet, now, nowMs, busyClusters }: World) => {
  const targets = fleet.map(({ target }) => target).filter(({ phase }) => phase <= upgrade.currentPhase)
  return decideUpgrade({ ...upgrade, targets }, { now, nowMs, graceUntilMs: 0, options, busyClusters })
}

const tomorrow = ({ now }: World) => new Date(now.getTime() + DAY_MS)

describe('the start of an upgrade', () => {
  test('is no millisecond early', () => {
    const world = newWorld([{}])
    change(world, { startAt: new Date(world.now.getTime() + 1) })
    round(world)
    expect([world.upgrade.status, world.upgrade.phaseOpenedMs]).toEqual(['queued', null])
  })

  test('is behind an upgrade that has begun, wherever the clock is', () => {
    const world = newWorld([{}, { phase: 2 }])
    round(world)
    change(world, { startAt: tomorrow(world) })
    for (let rounds = 0; rounds < 2; rounds += 1) round(world)
    changeTarget(world, 0, { state: 'upgraded' })
    change(world, { counts: { ...world.upgrade.counts, commanded: 0, upgraded: 1 }, upgradedByPhase: { 1: 1 } })
    round(world)
    expect(world.upgrade.currentPhase).toBe(2)
  })

  test('is not awaited by a cancellation', () => {
    const world = newWorld([{}, { phase: 2 }])
    change(world, { startAt: tomorrow(world), stopping: 'cancelled' })
    round(world)
    expect(statesOf(world)).toEqual(['cancelled', 'cancelled'])
    expect(world.upgrade).toMatchObject({ status: 'cancelled', finishedAt: world.now })
  })

  test('waits at its gate, since the first round and below the pause of a person, until it is approved', () => {
    const world = newWorld([{}], { start_gate: {} })
    const since_s = epochS(world.now)
    for (let rounds = 0; rounds < 2; rounds += 1) {
      expect(decisionOf(world).isDue).toBe(false)
      expect(round(world)).toEqual([])
      expect(world.upgrade).toMatchObject({ status: 'queued', hold: { by: 'approval', phase: 0, since_s } })
      pass(world, 60_000)
    }
    const pause = { by: 'user' as const, reason: 'paused', since_s, since_ms: 0 }
    change(world, { hold: pause })
    round(world)
    expect(world.upgrade.hold).toEqual(pause)
    const approval = { phase: 0, by: 'approval', name: 'Ada', admin_id: null, note: null, at_s: since_s } as const
    change(world, { hold: null, approvals: [approval] })
    expect(round(world)).toHaveLength(1)
    expect(world.upgrade).toMatchObject({ status: 'upgrading', hold: null })
  })
})

test('a wait for a time ends at its end, and the next phase opens', () => {
  const gate = { max_failures: null, max_failure_percentage: null, min_upgraded: 0 }
  const timed = { ...gate, wait_for: 'time' as const, minutes: 10 }
  const world = newWorld([{ phase: 1 }, { phase: 2 }], { gates: [timed, gate] })
  run(world, { resume: false })
  expect(world.upgrade.hold).toMatchObject({ by: 'time', wait_ms: 600_000 })
  pass(world, (world.upgrade.hold?.since_ms ?? 0) + 599_999 - world.nowMs)
  round(world)
  expect(world.upgrade).toMatchObject({ hold: { by: 'time' }, currentPhase: 1 })
  pass(world, 1)
  round(world)
  expect(world.upgrade).toMatchObject({ hold: null, gatePassed: 1, currentPhase: 2 })
})

test('a gate is evaluated again after its instant if it also waits for something else', () => {
  const world = newWorld([{ phase: 1 }, { phase: 2 }])
  const not_before_s = epochS(world.now) + 3600
  const gate = { max_failures: null, max_failure_percentage: null, min_upgraded: 0, not_before_s }
  change(world, { plan: { ...world.upgrade.plan, gates: [{ ...gate, wait_for: 'check' }, null] } })
  run(world, { resume: false })
  expect(world.upgrade.hold).toMatchObject({ by: 'time', not_before_s })
  pass(world, not_before_s * 1000 - world.now.getTime())
  round(world)
  expect(world.upgrade).toMatchObject({ hold: { by: 'check' }, gatePassed: 0, currentPhase: 1 })
})

describe('a stop', () => {
  test('withdraws the commands that are still queued', () => {
    const world = newWorld([{}])
    run(world, { cancelAtRound: 1 })
    expect(statesOf(world)).toEqual(['cancelled'])
    expect(world.fleet[0]?.effects.size).toBe(0)
  })

  test('by a person remains one though the appliances in flight exceed a limit', () => {
    const world = newWorld([{ fate: 'vanishes' }, { phase: 2 }], { max_failure_percentage: 0 })
    run(world, { cancelAtRound: 10 })
    expect(statesOf(world)).toEqual(['failed', 'cancelled'])
    expect(world.upgrade).toMatchObject({ status: 'cancelled', stopReason: null })
  })

  test('by a limit is made known once', () => {
    const world = newWorld([{}], { max_failure_percentage: 0 })
    change(world, { hardFailures: { 1: 1 } })
    expect(decisionOf(world).isStopped).toBe(true)
    change(world, { stopping: 'failed' })
    expect(decisionOf(world).isStopped).toBeUndefined()
  })

  test('by a limit keeps its reason when the end of the upgrade comes', () => {
    const world = newWorld([{}, { phase: 2 }], { ends_s: 0 })
    change(world, { stopping: 'failed', stopReason: 'a limit', phaseOpenedMs: world.nowMs })
    round(world)
    expect(world.upgrade).toMatchObject({ status: 'failed', stopReason: 'a limit' })
  })
})

describe('a round', () => {
  test('that ends the last appliance of a phase opens the next one', () => {
    const world = newWorld([{ fate: 'vanishes' }, { phase: 2 }])
    while (world.fleet[0]?.target.state !== 'failed') {
      round(world)
      changeTarget(world, 0, { command: null, ...(world.fleet[0] && away(world.fleet[0].target)) })
      pass(world, options.reconnectMs.service)
    }
    expect(world.upgrade).toMatchObject({ currentPhase: 2, hardFailures: { 1: 1 } })
  })

  test('counts what was upgraded by phase, and what another change than a stop has cancelled', () => {
    const world = newWorld([{}, {}, { fate: 'vanishes' }, { phase: 2 }])
    const [first] = world.fleet
    if (first?.target.appliance != null)
      changeTarget(world, 0, { appliance: { ...first.target.appliance, hasLeft: true } })
    round(world)
    expect(world.upgrade.released).toBe(1)
    run(world)
    expect(statesOf(world)).toEqual(['cancelled', 'upgraded', 'failed', 'upgraded'])
    expect(world.upgrade).toMatchObject({ status: 'completed', released: 1, upgradedByPhase: { 1: 1, 2: 1 } })
  })

  test('that finds all appliances gone ends the upgrade as cancelled', () => {
    const world = newWorld([{}, {}])
    for (const [index, { target }] of world.fleet.entries())
      if (target.appliance !== null) changeTarget(world, index, { appliance: { ...target.appliance, hasLeft: true } })
    round(world)
    const stopReason = 'no edge appliance is left to upgrade; see the reason of each'
    expect(world.upgrade).toMatchObject({ status: 'cancelled', stopping: null, stopReason })
  })

  test('that defers a member of a cluster commands another one', () => {
    const world = newWorld([{ clusterId: 'c', fate: 'absent' }, { clusterId: 'c' }])
    round(world)
    expect(statesOf(world)).toEqual(['deferred', 'commanded'])
  })
})

describe('another round follows at once', () => {
  const isDue = (world: World, more: Partial<World['upgrade']> = {}) => {
    change(world, { phaseOpenedMs: world.nowMs, ...more })
    return decisionOf(world).isDue
  }
  const hold = { by: 'user', reason: 'paused', since_s: 0, since_ms: 0 } as const
  /** The first appliance is in this state; counts include one of a phase that is not read. */
  const worldIn = (target: Partial<MxedgeTargetNow>, ...others: MemberTraits[]): World => {
    const world = newWorld([{ canStage: target.state === 'downloading' }, ...others])
    changeTarget(world, 0, target)
    const { planned, ...counts } = world.upgrade.counts
    const { state = 'planned' } = target
    change(world, { counts: { ...counts, planned, [state]: counts[state as 'verifying'] + 1 } })
    return world
  }
  const queued = { state: 'commanded', attempt: 1, command: { ...command, state: 'queued' } } as const

  test('after a command was taken back', () => {
    expect(isDue(worldIn(queued), { hold })).toBe(true)
    expect(isDue(worldIn(queued), { stopping: 'cancelled' })).toBe(true)
    expect(isDue(worldIn(queued))).toBe(false)
  })

  test('after the last download', () => {
    const done = { state: 'downloading', attempt: 1, command: { ...command, state: 'done' } } as const
    expect(isDue(worldIn(done))).toBe(true)
    expect(isDue(worldIn({ ...done, command }))).toBe(false)
  })

  test('where a stop has to read more appliances, but not while one is in flight', () => {
    const stopping = 'cancelled' as const
    expect(isDue(worldIn({ state: 'planned' }), { stopping })).toBe(true)
    expect(isDue(worldIn({ state: 'verifying' }, {}), { stopping })).toBe(false)
    expect(isDue(worldIn({ state: 'downloading', command }, {}), { stopping })).toBe(true)
  })

  test('where the last present appliance of a wave is deferred, but not while one is in flight', () => {
    expect(isDue(newWorld([{ fate: 'absent' }, { wave: 2 }]))).toBe(true)
    expect(isDue(worldIn({ state: 'verifying' }, { fate: 'absent' }, { wave: 2 }))).toBe(false)
    expect(isDue(newWorld([{ fate: 'absent' }]))).toBe(false)
    expect(isDue(newWorld([{}]))).toBe(false)
  })

  test('where a phase opens', () => {
    expect(isDue(newWorld([{ fate: 'absent' }, { phase: 2 }]))).toBe(true)
    expect(isDue(newWorld([{ phase: 2 }]))).toBe(true)
    expect(isDue(newWorld([{}, { phase: 2 }]))).toBe(false)
  })
})

describe('an absent appliance', () => {
  test('of a wave does not delay the next one', () => {
    const world = newWorld([{ fate: 'absent' }, { wave: 2 }])
    for (let rounds = 0; rounds < 2; rounds += 1) round(world)
    expect(statesOf(world)).toEqual(['deferred', 'commanded'])
  })

  test('of an earlier phase does not delay the wave of the open one when it is back', () => {
    const world = newWorld([{ fate: 'absent' }, { phase: 2, wave: 2 }])
    for (let rounds = 0; rounds < 2; rounds += 1) round(world)
    changeTarget(world, 0, { state: 'planned' })
    round(world)
    expect(statesOf(world)).toEqual(['deferred', 'commanded'])
  })

  test('is given up only once the last phase has been open for long', () => {
    const world = newWorld([{ fate: 'absent' }, { phase: 2 }, { phase: 3 }])
    for (let rounds = 0; rounds < 2; rounds += 1) round(world)
    pass(world, options.offlineDeadlineMs)
    round(world)
    expect([world.upgrade.currentPhase, statesOf(world)[0]]).toEqual([2, 'deferred'])
    change(world, { currentPhase: 3 })
    pass(world, options.offlineDeadlineMs)
    round(world)
    expect(statesOf(world)[0]).toBe('failed')
  })
})

function away({ appliance }: MxedgeTargetNow): Partial<MxedgeTargetNow> {
  return appliance === null ? {} : { appliance: { ...appliance, link: 'absent', connectedMs: null } }
}

describe('the window that an upgrade waits for', () => {
  const windows = [{ site_id: null, timezone: 'UTC', windows: [{ start: '01:00', end: '01:45' }] }]
  const opensAt = new Date('2026-03-01T01:00:00Z')
  const waitsUntil = (world: World) => {
    round(world)
    return world.upgrade.waitsUntil
  }

  test('is the next one, unless it has none, is paused or stops', () => {
    const world = newWorld([{}, { phase: 2 }], { windows })
    expect(waitsUntil(world)).toEqual(opensAt)
    expect(waitsUntil(newWorld([{}]))).toBeNull()
    change(world, { hold: { by: 'user', reason: 'paused', since_s: 0, since_ms: 0 } })
    expect(waitsUntil(world)).toBeNull()
    change(world, { hold: null, stopping: 'cancelled', phaseOpenedMs: world.nowMs })
    expect(waitsUntil(world)).toBeNull()
  })

  test('is one that is long enough for the appliance', () => {
    const world = newWorld([{}], { windows })
    world.now = new Date('2026-03-01T01:30:00Z')
    expect(waitsUntil(world)).toEqual(new Date('2026-03-02T01:00:00Z'))
    world.now = new Date('2026-03-01T01:10:00Z')
    expect(waitsUntil(world)).toBeNull()
    expect(statesOf(world)).toEqual(['commanded'])
  })

  test('is the earliest of all sites, and none of a phase that is not open or of an appliance that is under way', () => {
    const sites = ['00:40', '00:50'].map((start, index) => ({
      site_id: String(index),
      timezone: 'UTC',
      windows: [{ start, end: '02:00' }],
    }))
    const world = newWorld([{}, {}, {}, { phase: 2 }], { windows: [...windows, ...sites] })
    const place = (index: number, plannedSiteId: string | null) => changeTarget(world, index, { plannedSiteId })
    place(0, '1')
    place(3, '0')
    expect(waitsUntil(world)).toEqual(new Date('2026-03-01T00:50:00Z'))
    changeTarget(world, 0, { state: 'verifying' })
    expect(waitsUntil(world)).toEqual(opensAt)
  })
})
