import { expect } from 'vitest'
import { planned } from './targets.ts'
import { type SiteUpgradeNow, decideNext } from '../../src/rollout/decide-next.ts'
import { type TargetState, defaultRolloutOptions, isInFlight, isTerminal, noCounts } from '../../src/rollout/rollout.ts'
import type { CommandNow, DeviceNow, DownloadNow, TargetNow } from '../../src/rollout/target.ts'

/** What a device does with an upgrade. */
export const fates = [
  'good',
  'refuses',
  'old_version',
  'never_returns',
  'lost_early',
  'lost_late',
  'absent',
  'comes_late',
] as const
export type Fate = (typeof fates)[number]

interface Simulated {
  readonly fate: Fate
  /** Whether it downloads apart from its reboot. */
  readonly stages: boolean
  target: TargetNow
  device: DeviceNow
  command: CommandNow | null
  download: DownloadNow | null
  /** It has executed the command that makes it flash. */
  willFlash: boolean
  /** Images that it has flashed: the effect that must not happen twice. */
  flashed: number
}

export interface World {
  siteUpgrade: Omit<SiteUpgradeNow, 'targets'>
  readonly fleet: Simulated[]
  now: Date
}

export const start = new Date('2026-03-01T00:00:00Z')
export const serviceMs = (now: Date): number => now.getTime() - start.getTime()
const options = { ...defaultRolloutOptions, soakMs: 5000, retryMs: 2000 }

export interface WorldOptions {
  /** Whether the device with this fate, the one at that place of its phase, downloads apart from its reboot. */
  readonly stages?: (fate: Fate, place: number) => boolean
  /** Seconds after the start. */
  readonly rebootS?: number
  /** When the upgrade starts, in seconds after the first round. */
  readonly startS?: number
}

export function createWorld(
  fatesByPhase: readonly (readonly Fate[])[],
  maxFailurePercentage: number,
  { stages = () => false, rebootS = 0, startS = 0 }: WorldOptions = {},
): World {
  const fleet = fatesByPhase.flatMap((phase, index) =>
    phase.map((fate, place): Simulated => {
      const device: DeviceNow = {
        type: 'ap',
        link: fate !== 'absent' && fate !== 'comes_late' ? 'connected' : 'absent',
        connectedMs: 0,
        disconnectedMs: null,
        firmware: '1.0',
        bootCount: 1,
        bootedAt: start,
        memberFirmware: [],
        commands: stages(fate, place) ? ['stage', 'activate'] : ['upgrade'],
        repeatable: [],
      }
      const name = `${index}-${place}`
      const target: TargetNow = { ...planned, deviceId: name, phase: index + 1, enteredMs: 0, device }
      const nothing = { command: null, download: null, willFlash: false, flashed: 0 }
      return { fate, stages: stages(fate, place), target, device, ...nothing }
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
    stages: fleet.some((one) => one.stages),
    planned: fleet.length,
    timezone: 'UTC',
  }
  const siteUpgrade: World['siteUpgrade'] = {
    status: 'queued',
    stopping: null,
    stopReason: null,
    hold: null,
    gatePassed: 0,
    startAt: new Date(start.getTime() + startS * 1000),
    rebootAt: new Date(start.getTime() + (startS + rebootS) * 1000),
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
export function live(one: Simulated, now: Date): void {
  const { command, device } = one
  if (one.fate === 'comes_late' && serviceMs(now) > 60_000 && device.bootCount === 1 && device.link === 'absent')
    one.device = { ...device, link: 'connected', connectedMs: serviceMs(now) }
  if (command?.state === 'queued' && one.device.link === 'connected') {
    one.command = { ...command, state: 'sent', sentAt: now }
    return
  }
  if (command?.state === 'sent') answer(one, command, now)
  else if (one.willFlash) flash(one, now)
  else if (one.flashed > 0 && device.link === 'absent' && one.fate !== 'never_returns') boot(one, now)
}

function answer(one: Simulated, command: CommandNow, now: Date): void {
  const end = (state: CommandNow['state']): void => {
    one.command = { ...command, state, refusal: 'no' }
  }
  if (one.fate === 'refuses') return end('rejected')
  if (one.fate === 'lost_early' && one.target.attempt < 2) return end('unknown')
  if (one.download?.fenced === true) return end('rejected')
  if (command.kind !== 'activate')
    one.download = { bytesServed: 100, touchedMs: serviceMs(now), delivered: true, fenced: false }
  one.willFlash = command.kind !== 'stage'
  end(one.fate === 'lost_late' ? 'unknown' : 'done')
}

function flash(one: Simulated, now: Date): void {
  one.flashed += 1
  one.willFlash = false
  one.device = { ...one.device, link: 'absent', connectedMs: null, disconnectedMs: serviceMs(now) }
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

export interface RoundResult {
  readonly commanded: readonly TargetNow[]
  /** The kinds of the commands. */
  readonly orders: readonly CommandNow['kind'][]
}

/** What the worker does around decideNext(), without a database. */
export function round(world: World): RoundResult {
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
  for (const { target, to, failedAttempts, retryAtMs, staged, order } of steps) {
    const one = byId.get(target.deviceId)
    if (one === undefined) throw new Error('a step without a target')
    if (isTerminal(one.target.state)) throw new Error(`${one.target.deviceId} had ended`)
    const entered = to === target.state && order === null ? {} : { enteredMs: serviceMs(now) }
    one.target = { ...one.target, state: to, ...entered, failedAttempts, retryAtMs, staged }
    if (order === null) continue
    one.target = { ...one.target, attempt: target.attempt + 1, bootCount: one.device.bootCount }
    one.command = {
      id: `${target.deviceId}#${target.attempt + 1}`,
      kind: order,
      state: 'queued',
      refusal: null,
      refusalIsFinal: false,
      refusalIsBusy: false,
      loss: null,
      mayReboot: false,
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
  const commanding = steps.filter(({ order }) => order !== null)
  return { commanded: commanding.map(({ target }) => target), orders: commanding.flatMap(({ order }) => order ?? []) }
}

export function countStates(fleet: readonly Simulated[]): Record<TargetState, number> {
  const counts = { ...noCounts }
  for (const { target } of fleet) counts[target.state] += 1
  return counts
}

function isOver({ siteUpgrade }: World): boolean {
  return siteUpgrade.status === 'completed' || siteUpgrade.status === 'failed' || siteUpgrade.status === 'cancelled'
}

/** What resuming does to a held upgrade. */
export function resume(world: World): void {
  const { hold, currentPhase, gatePassed } = world.siteUpgrade
  world.siteUpgrade = { ...world.siteUpgrade, hold: null, gatePassed: hold?.by === 'gate' ? currentPhase : gatePassed }
}

/** Nothing is under way that would end without a command. */
function isQuiet({ fleet }: World): boolean {
  return fleet.every(({ target: { state } }) => !isInFlight(state))
}

export interface Interventions {
  readonly cancelAtRound?: number
  /** At each of them somebody pauses the upgrade. */
  readonly pauseAtRounds?: readonly number[]
  /** Sees the upgrade before and after each round, and what the round commanded. */
  readonly onRound?: (before: World['siteUpgrade'], world: World, result: RoundResult) => void
}

/** Runs to the end, resuming whenever it is held, and checks what must hold in every round. */
export function run(world: World, { cancelAtRound = Infinity, pauseAtRounds = [], onRound }: Interventions = {}): void {
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
    const before = world.siteUpgrade
    const result = round(world)
    onRound?.(before, world, result)
    const { commanded, orders } = result
    const isEarly = world.now < world.siteUpgrade.rebootAt
    expect(isEarly && orders.some((order) => order !== 'stage')).toBe(false)
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
