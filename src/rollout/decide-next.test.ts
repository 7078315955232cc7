import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type SiteUpgradeNow, decideNext } from './decide-next.ts'
import { exceedsPercentage } from './decide-stop.ts'
import { type TargetState, defaultRolloutOptions, isInFlight, isTerminal, noCounts } from './rollout.ts'
import type { CommandNow, DeviceNow, DownloadNow, TargetNow } from './target.ts'

/** What a device does with an upgrade. */
const fates = [
  'good',
  'refuses',
  'old_version',
  'never_returns',
  'lost_early',
  'lost_late',
  'absent',
  'comes_late',
] as const
type Fate = (typeof fates)[number]

interface Simulated {
  readonly fate: Fate
  target: TargetNow
  device: DeviceNow
  command: CommandNow | null
  download: DownloadNow | null
  /** Images that it has flashed: the effect that must not happen twice. */
  flashed: number
}

interface World {
  siteUpgrade: Omit<SiteUpgradeNow, 'targets'>
  readonly fleet: Simulated[]
  now: Date
}

const start = new Date('2026-03-01T00:00:00Z')
const serviceMs = (now: Date): number => now.getTime() - start.getTime()
const options = { ...defaultRolloutOptions, soakMs: 5000, retryMs: 2000 }

function createWorld(fatesByPhase: readonly (readonly Fate[])[], maxFailurePercentage: number): World {
  const fleet = fatesByPhase.flatMap((phase, index) =>
    phase.map((fate, place): Simulated => {
      const device: DeviceNow = {
        type: 'ap',
        link: fate !== 'absent' && fate !== 'comes_late' ? 'connected' : 'absent',
        connectedMs: 0,
        firmware: '1.0',
        bootCount: 1,
        bootedAt: start,
        memberFirmware: [],
      }
      const target: TargetNow = {
        deviceId: `${index}-${place}`,
        phase: index + 1,
        state: 'planned',
        enteredMs: 0,
        fromVersion: '1.0',
        targetVersion: '2.0',
        imageId: 'image',
        force: false,
        attempt: 0,
        failedAttempts: 0,
        lostAttempts: 0,
        retryAtMs: null,
        fetched: false,
        bootCount: null,
        device,
        command: null,
        download: null,
      }
      return { fate, target, device, command: null, download: null, flashed: 0 }
    }),
  )
  const gate = { max_failures: null, max_failure_percentage: maxFailurePercentage, min_upgraded: 1 }
  const plan = {
    strategy: 'canary' as const,
    phase_scope: 'site' as const,
    phases: fatesByPhase.length,
    phase_sizes: fatesByPhase.map((phase) => phase.length),
    gates: fatesByPhase.map(() => gate),
    max_failure_percentage: maxFailurePercentage,
    planned: fleet.length,
    timezone: 'UTC',
  }
  const siteUpgrade: World['siteUpgrade'] = {
    status: 'queued',
    stopping: null,
    stopReason: null,
    hold: null,
    gatePassed: 0,
    startAt: start,
    rebootAt: start,
    plan,
    currentPhase: 1,
    phaseOpenedMs: null,
    graceUntilMs: null,
    counts: { ...noCounts, planned: fleet.length },
    hardFailures: {},
    upgradedByPhase: {},
  }
  return { siteUpgrade, fleet, now: start }
}

/** One second in the life of a device. */
function live(one: Simulated, now: Date): void {
  const { command, device } = one
  if (one.fate === 'comes_late' && serviceMs(now) > 60_000 && device.bootCount === 1 && device.link === 'absent')
    one.device = { ...device, link: 'connected', connectedMs: serviceMs(now) }
  if (command?.state === 'queued' && one.device.link === 'connected') {
    one.command = { ...command, state: 'sent', sentAt: now }
    return
  }
  if (command?.state === 'sent') answer(one, command, now)
  else if (one.download?.delivered === true && one.flashed === 0) flash(one)
  else if (one.flashed > 0 && device.link === 'absent' && one.fate !== 'never_returns') boot(one, now)
}

function answer(one: Simulated, command: CommandNow, now: Date): void {
  const end = (state: CommandNow['state']): void => {
    one.command = { ...command, state, refusal: 'no' }
  }
  if (one.fate === 'refuses') return end('rejected')
  if (one.fate === 'lost_early' && one.target.attempt < 2) return end('unknown')
  if (one.download?.fenced === true) return end('rejected')
  one.download = { bytesServed: 100, touchedMs: serviceMs(now), delivered: true, fenced: false }
  end(one.fate === 'lost_late' ? 'unknown' : 'done')
}

function flash(one: Simulated): void {
  one.flashed += 1
  one.device = { ...one.device, link: 'absent', connectedMs: null }
}

function boot(one: Simulated, now: Date): void {
  const firmware = one.fate === 'old_version' ? '1.0' : '2.0'
  one.device = {
    ...one.device,
    link: 'connected',
    connectedMs: serviceMs(now),
    firmware,
    bootCount: one.device.bootCount + 1,
    bootedAt: now,
  }
}

interface RoundResult {
  readonly commanded: readonly TargetNow[]
}

/** What the worker does around decideNext(), without a database. */
function round(world: World): RoundResult {
  const { fleet, now } = world
  const targets = fleet
    .map((one) => ({ ...one.target, device: one.device, command: one.command, download: one.download }))
    .filter(
      ({ state, phase }) =>
        !isTerminal(state) && (world.siteUpgrade.stopping !== null || phase <= world.siteUpgrade.currentPhase),
    )
  const { steps, withdrawn, fences, siteUpgrade } = decideNext(
    { ...world.siteUpgrade, targets },
    { now, nowMs: serviceMs(now), graceUntilMs: 0, options },
  )
  const byId = new Map(fleet.map((one) => [one.target.deviceId, one]))
  for (const { target, to, failedAttempts, retryAtMs, commanded } of steps) {
    const one = byId.get(target.deviceId)
    if (one === undefined) throw new Error('a step without a target')
    if (isTerminal(one.target.state)) throw new Error(`${one.target.deviceId} had ended`)
    const entered = to === target.state && !commanded ? {} : { enteredMs: serviceMs(now) }
    one.target = { ...one.target, state: to, ...entered, failedAttempts, retryAtMs }
    if (!commanded) continue
    one.target = { ...one.target, attempt: target.attempt + 1, bootCount: one.device.bootCount }
    one.command = {
      id: `${target.deviceId}#${target.attempt + 1}`,
      state: 'queued',
      refusal: null,
      refusalIsFinal: false,
      loss: null,
      sentAt: null,
    }
    one.download = null
  }
  for (const one of fleet) {
    if (one.command !== null && withdrawn.includes(one.command.id)) one.command = { ...one.command, state: 'cancelled' }
    if (fences.some(({ commandId }) => commandId === one.command?.id) && one.download?.delivered !== true)
      one.download = { bytesServed: 0, touchedMs: serviceMs(now), delivered: false, fenced: true }
  }
  world.siteUpgrade = { ...world.siteUpgrade, ...siteUpgrade }
  return { commanded: steps.filter(({ commanded }) => commanded).map(({ target }) => target) }
}

function countStates(fleet: readonly Simulated[]): Record<TargetState, number> {
  const counts = { ...noCounts }
  for (const { target } of fleet) counts[target.state] += 1
  return counts
}

function isOver({ siteUpgrade }: World): boolean {
  return siteUpgrade.status === 'completed' || siteUpgrade.status === 'failed' || siteUpgrade.status === 'cancelled'
}

/** What resuming does to a held upgrade. */
function resume(world: World): void {
  const { hold, currentPhase, gatePassed } = world.siteUpgrade
  world.siteUpgrade = { ...world.siteUpgrade, hold: null, gatePassed: hold?.by === 'gate' ? currentPhase : gatePassed }
}

/** Nothing is under way that would end without a command. */
function isQuiet({ fleet }: World): boolean {
  return fleet.every(({ target: { state } }) => !isInFlight(state))
}

interface Interventions {
  readonly cancelAtRound?: number
  /** At each of them somebody pauses the upgrade. */
  readonly pauseAtRounds?: readonly number[]
}

/** Runs to the end, resuming whenever it is held, and checks what must hold in every round. */
function run(world: World, { cancelAtRound = Infinity, pauseAtRounds = [] }: Interventions = {}): void {
  for (let rounds = 0; !isOver(world); rounds += 1) {
    if (rounds > 2000) throw new Error('does not end')
    if (rounds === cancelAtRound && world.siteUpgrade.stopping === null)
      world.siteUpgrade = { ...world.siteUpgrade, stopping: 'cancelled' }
    const { hold } = world.siteUpgrade
    if (hold === null && world.siteUpgrade.stopping === null && pauseAtRounds.includes(rounds))
      world.siteUpgrade = {
        ...world.siteUpgrade,
        hold: { by: 'user', reason: 'paused', since_s: 0, since_ms: serviceMs(world.now) },
      }
    else if (hold !== null && isQuiet(world)) resume(world)
    const held = world.siteUpgrade.hold !== null
    const phase = world.siteUpgrade.currentPhase
    const stopping = world.siteUpgrade.stopping !== null
    const settled = world.fleet.every(
      ({ target }) =>
        target.phase >= phase || isTerminal(target.state) || target.state === 'deferred' || target.attempt > 0,
    )
    const { commanded } = round(world)
    expect(world.siteUpgrade.counts).toEqual(countStates(world.fleet))
    if (commanded.length > 0) {
      expect(held || stopping || world.siteUpgrade.stopping !== null).toBe(false)
      expect(settled && commanded.every((target) => target.phase <= phase)).toBe(true)
    }
    for (const one of world.fleet) {
      live(one, world.now)
      if (one.flashed > 1) throw new Error(`${one.target.deviceId} was flashed twice`)
    }
    // Devices live by the second; where only the dead are waited for, time may leap.
    const idle = world.fleet.every(
      ({ fate, target }) =>
        isTerminal(target.state) ||
        target.state === 'deferred' ||
        target.phase > world.siteUpgrade.currentPhase ||
        (target.state === 'rebooting' && fate === 'never_returns'),
    )
    world.now = new Date(world.now.getTime() + (idle && rounds > 100 ? 600_000 : 1000))
  }
}

const phases = fc.array(fc.array(fc.constantFrom(...fates), { maxLength: 6 }), { minLength: 1, maxLength: 4 })

describe('an upgrade of any fleet', () => {
  test('ends, in order, without a second flash, and with true counts', () => {
    fc.assert(
      fc.property(phases, fc.nat(100), (fatesByPhase, percent) => {
        const world = createWorld(fatesByPhase, percent)
        run(world)
        const failures = Object.values(world.siteUpgrade.hardFailures).reduce((sum, count) => sum + count, 0)
        expect(world.siteUpgrade.status).toBe(
          exceedsPercentage(failures, percent, world.fleet.length) ? 'failed' : 'completed',
        )
        for (const { fate, target } of world.fleet) {
          if (target.state === 'cancelled') continue
          const upgraded = ['good', 'lost_early', 'lost_late', 'comes_late'].includes(fate)
          expect(`${fate} ${target.state}`).toBe(`${fate} ${upgraded ? 'upgraded' : 'failed'}`)
        }
      }),
    )
  })

  test('ends soon after it is cancelled, and what was under way has ended too', () => {
    fc.assert(
      fc.property(phases, fc.nat(40), (fatesByPhase, cancelAtRound) => {
        const world = createWorld(fatesByPhase, 100)
        run(world, { cancelAtRound })
        expect(['completed', 'cancelled']).toContain(world.siteUpgrade.status)
        expect(world.fleet.every(({ target }) => isTerminal(target.state))).toBe(true)
      }),
    )
  })
})

test('an upgrade that is paused at any times ends as one that is not', () => {
  fc.assert(
    fc.property(phases, fc.array(fc.nat(60), { maxLength: 5 }), (fatesByPhase, pauseAtRounds) => {
      const [plain, paused] = [createWorld(fatesByPhase, 100), createWorld(fatesByPhase, 100)]
      run(plain)
      run(paused, { pauseAtRounds })
      expect(paused.siteUpgrade.status).toBe('completed')
      expect(countStates(paused.fleet)).toEqual(countStates(plain.fleet))
    }),
  )
})

test('a gate holds where too many of a phase failed, until it is told to go on', () => {
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
