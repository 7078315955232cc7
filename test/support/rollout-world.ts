import { expect } from 'vitest'
import { planned } from './targets.ts'
import type { MaintenanceWindow } from '../../src/orgs/windows/windows.ts'
import { awaitsImage } from '../../src/rollout/decide-downloads.ts'
import { DEFERRED_POLL_MS, decideNext } from '../../src/rollout/decide-next.ts'
import type { SiteUpgradeChange, SiteUpgradeNow } from '../../src/rollout/site-upgrade-now.ts'
import { type TargetState, defaultRolloutOptions, isInFlight, isTerminal, noCounts } from '../../src/rollout/rollout.ts'
import type { CommandNow, DeviceNow, DownloadNow, TargetNow } from '../../src/rollout/target.ts'

/** The fate of a device in an upgrade. */
export const fates = [
  'good',
  'refuses',
  'old_version',
  'never_returns',
  'returns_late',
  'lost_early',
  'lost_late',
  'lost_bytes',
  'absent',
  'comes_late',
] as const
export type Fate = (typeof fates)[number]

interface Simulated {
  readonly fate: Fate
  /** True if it downloads separately from its reboot. */
  readonly stages: boolean
  target: TargetNow
  /** Why the target is in its state. */
  reason: string | null
  device: DeviceNow
  command: CommandNow | null
  download: DownloadNow | null
  /** True if it has executed the command that makes it flash. */
  willFlash: boolean
  /** Images that it has flashed: the effect that must not happen twice. */
  flashed: number
  /** The number of times that it has booted its backup version on request: at most one. */
  restored: number
  /** Since when it is away because of that; service time. */
  goneMs: number
}

export interface World {
  siteUpgrade: Omit<SiteUpgradeNow, 'targets'> & Pick<SiteUpgradeChange, 'dueMs' | 'finishedAt'>
  readonly fleet: Simulated[]
  now: Date
}

export const start = new Date('2026-03-01T00:00:00Z')
export const serviceMs = (now: Date): number => now.getTime() - start.getTime()
const options = { ...defaultRolloutOptions, soakMs: 5000, retryMs: 2000 }

export interface WorldOptions {
  /** True if the device with this fate, at that position of its phase, downloads separately from its reboot. */
  readonly stages?: (fate: Fate, place: number) => boolean
  /** Seconds after the start. */
  readonly rebootS?: number
  /** When the upgrade starts, in seconds after the first round. */
  readonly startS?: number
  /** Devices can be restored, and failed ones are. */
  readonly rollback?: boolean
  /** The rank of the device at that place of its phase. Missing: restarts have no order. */
  readonly rank?: ((place: number) => number) | undefined
  /** The phase, from 1 to 3, of the download of the device at that place of its phase. Missing: they have none. */
  readonly downloadPhase?: (place: number) => number
  /** Devices that download and reboot in one step are in phases of the downloads too. */
  readonly oneStepDownloads?: boolean
  /** The share of upgraded devices that each gate requires. */
  readonly successPercent?: number | undefined
  /** In UTC; the world begins at midnight. Missing: devices begin at any time. */
  readonly windows?: readonly MaintenanceWindow[] | undefined
}

const DOWNLOAD_PHASES = 3

export function createWorld(
  fatesByPhase: readonly (readonly Fate[])[],
  maxFailurePercentage: number,
  { stages = () => false, rebootS = 0, startS = 0, rollback = false, downloadPhase, rank, ...more }: WorldOptions = {},
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
        isBootKnown: true,
        memberFirmware: [],
        commands: [
          ...(stages(fate, place) ? (['stage', 'activate'] as const) : (['upgrade'] as const)),
          ...(rollback ? (['restore_backup'] as const) : []),
        ],
        repeatable: [],
        backupVersion: null,
      }
      const name = `${index}-${place}`
      const own = ((stages(fate, place) || more.oneStepDownloads === true) && downloadPhase?.(place)) || null
      const target: TargetNow = {
        ...planned,
        deviceId: name,
        phase: index + 1,
        downloadPhase: own,
        rank: rank?.(place) ?? null,
        enteredMs: 0,
        device,
      }
      const nothing = {
        reason: null,
        command: null,
        download: null,
        willFlash: false,
        flashed: 0,
        restored: 0,
        goneMs: 0,
      }
      return { fate, stages: stages(fate, place), target, device, ...nothing }
    }),
  )
  const gate = {
    max_failures: null,
    max_failure_percentage: maxFailurePercentage,
    min_upgraded: 1,
    ...(more.successPercent !== undefined && { min_success_percentage: more.successPercent }),
  }
  const inDownloadPhase = (phase: number): number => fleet.filter((one) => one.target.downloadPhase === phase).length
  const downloadSizes = Array.from({ length: DOWNLOAD_PHASES }, (_, index) => inDownloadPhase(index + 1))
  const isApart = downloadSizes.some((size) => size > 0)
  const downloads = {
    strategy: 'canary',
    scope: 'site' as const,
    phase_sizes: downloadSizes,
    gates: downloadSizes.map(() => gate),
  }
  const plan = {
    ...(isApart && { downloads }),
    ...(rollback && { rollback }),
    ...(rank !== undefined && { ranked: true as const }),
    strategy: 'canary' as const,
    phase_scope: 'site' as const,
    phases: fatesByPhase.length,
    phase_sizes: fatesByPhase.map((phase) => phase.length),
    gates: fatesByPhase.map(() => gate),
    max_failure_percentage: maxFailurePercentage,
    stages: fleet.some((one) => one.stages),
    planned: fleet.length,
    timezone: 'UTC',
    ...(more.windows !== undefined && { windows: more.windows }),
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
    downloads: isApart ? { current: 1, gate_passed: 0, failures: {}, downloaded: {} } : null,
    isDue: true,
    dueMs: 0,
    finishedAt: null,
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
  else if (one.flashed > 0 && device.link === 'absent' && isBackAt(one, now)) boot(one, now)
}

/** Longer than an access point may take to return, and shorter than it may take to restore its backup version. */
const LATE_MS = 15 * 60_000

function isBackAt({ fate, restored, goneMs }: Simulated, now: Date): boolean {
  if (fate === 'never_returns') return false
  return fate !== 'returns_late' || restored > 0 || serviceMs(now) >= goneMs + LATE_MS
}

function answer(one: Simulated, command: CommandNow, now: Date): void {
  const end = (state: CommandNow['state']): void => {
    one.command = { ...command, state, refusal: 'no' }
  }
  if (one.fate === 'refuses') return end('rejected')
  if (one.fate === 'lost_early' && one.target.attempt < 2) return end('unknown')
  if (one.download?.fenced === true) return end('rejected')
  if (one.fate === 'lost_bytes' && one.target.attempt < 2) return loseBytes(one, command, now)
  if (command.kind !== 'activate')
    one.download = { bytesServed: 100, touchedMs: serviceMs(now), delivered: true, fenced: false }
  one.willFlash = command.kind !== 'stage'
  end(one.fate === 'lost_late' ? 'unknown' : 'done')
}

/** The service dies after it has recorded the whole image as sent, and finds that the device does nothing when it is back. */
function loseBytes(one: Simulated, command: CommandNow, now: Date): void {
  const download = { bytesServed: 100, touchedMs: serviceMs(now), delivered: true, fenced: false }
  if (command.kind !== 'activate') one.download = download
  one.command = { ...command, state: 'unknown', loss: 'gateway_lost', isIdle: true }
  one.device = { ...one.device, connectedMs: serviceMs(now) }
}

function flash(one: Simulated, now: Date): void {
  if (one.command?.kind === 'restore_backup') one.restored += 1
  else one.flashed += 1
  one.willFlash = false
  one.goneMs = serviceMs(now)
  one.device = { ...one.device, link: 'absent', connectedMs: null, disconnectedMs: serviceMs(now) }
}

function boot(one: Simulated, now: Date): void {
  const firmware = one.fate === 'old_version' || one.restored > 0 ? '1.0' : '2.0'
  one.device = {
    ...one.device,
    link: 'connected',
    connectedMs: serviceMs(now),
    firmware,
    bootCount: one.device.bootCount + 1,
    bootedAt: now,
  }
}

/** True if the worker reads the target. */
function isOpen({ siteUpgrade }: World, { phase, downloadPhase, state }: TargetNow): boolean {
  const { currentPhase, downloads } = siteUpgrade
  const isInDownload = downloadPhase !== null && downloadPhase <= (downloads?.current ?? 0)
  return phase <= currentPhase || (isInDownload && state !== 'downloaded')
}

export interface RoundResult {
  readonly commanded: readonly TargetNow[]
  /** The kinds of the commands. */
  readonly orders: readonly CommandNow['kind'][]
}

/** Does the worker's part around decideNext(), without a database. */
export function round(world: World): RoundResult {
  const { fleet, now } = world
  const targets = fleet
    .map((one) => ({ ...one.target, device: one.device, command: one.command, download: one.download }))
    .filter(
      ({ state, ...target }) =>
        !isTerminal(state) && (world.siteUpgrade.stopping !== null || isOpen(world, { state, ...target })),
    )
  const { steps, withdrawn, fences, siteUpgrade } = decideNext(
    { ...world.siteUpgrade, targets },
    { now, nowMs: serviceMs(now), graceUntilMs: 0, options },
  )
  const byId = new Map(fleet.map((one) => [one.target.deviceId, one]))
  for (const { target, to, reason, failedAttempts, retryAtMs, staged, order } of steps) {
    const one = byId.get(target.deviceId)
    if (one === undefined) throw new Error('a step without a target')
    if (isTerminal(one.target.state)) throw new Error(`${one.target.deviceId} had ended`)
    const entered = to === target.state && order === null ? {} : { enteredMs: serviceMs(now) }
    one.target = { ...one.target, state: to, ...entered, failedAttempts, retryAtMs, staged }
    one.reason = reason
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
      isIdle: false,
      lost: null,
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

/** Resumes a paused upgrade. */
export function resume(world: World): void {
  const { hold, currentPhase, gatePassed, downloads } = world.siteUpgrade
  world.siteUpgrade =
    hold?.of === 'downloads'
      ? { ...world.siteUpgrade, hold: null, downloads: downloads && { ...downloads, gate_passed: downloads.current } }
      : { ...world.siteUpgrade, hold: null, gatePassed: hold?.by === 'gate' ? currentPhase : gatePassed }
}

/** Returns for how long nothing happens: until the round that is due, unless it is one that only reads. */
function leapOf({ siteUpgrade: { dueMs }, now }: World): number {
  const waitMs = (dueMs ?? 0) - serviceMs(now)
  return waitMs > DEFERRED_POLL_MS ? waitMs : 600_000
}

/** True if nothing in flight would end without a command. */
function isQuiet({ fleet }: World): boolean {
  return fleet.every(({ target: { state } }) => !isInFlight(state))
}

export interface Interventions {
  readonly cancelAtRound?: number
  /** The rounds at which a person pauses the upgrade. */
  readonly pauseAtRounds?: readonly number[]
  /** Sees the upgrade before and after each round, and the commands of the round. */
  readonly onRound?: (before: World['siteUpgrade'], world: World, result: RoundResult) => void
}

/** Runs to the end, resuming whenever it is paused, and checks the invariants in every round. */
export function run(world: World, { cancelAtRound = Infinity, pauseAtRounds = [], onRound }: Interventions = {}): void {
  for (let rounds = 0; !isOver(world); rounds += 1) {
    if (rounds > 4000) throw new Error('does not end')
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
    const openDownloads = world.siteUpgrade.downloads?.current ?? 0
    const awaiting = world.fleet.filter(
      (one) => one.stages && one.target.downloadPhase !== null && awaitsImage(one.target),
    )
    // A device that comes back late delays no phase.
    const loading = world.fleet.flatMap(({ target, fate }) =>
      fate !== 'comes_late' && awaitsImage(target) ? (target.downloadPhase ?? []) : [],
    )
    const before = world.siteUpgrade
    const result = round(world)
    onRound?.(before, world, result)
    const { commanded, orders } = result
    const isEarly = world.now < world.siteUpgrade.rebootAt
    expect(isEarly && orders.some((order) => order !== 'stage')).toBe(false)
    expect(world.siteUpgrade.counts).toEqual(countStates(world.fleet))
    const begins = commanded.filter((_, place) => orders[place] !== 'restore_backup')
    if (begins.length > 0) {
      expect(held || stopping || world.siteUpgrade.stopping !== null).toBe(false)
      const isDownload = (target: TargetNow, place: number): boolean =>
        orders[place] === 'stage' && target.downloadPhase !== null && target.downloadPhase <= openDownloads
      const rebooted = commanded.filter(
        (target, place) => !isDownload(target, place) && orders[place] !== 'restore_backup',
      )
      expect(rebooted.every((target) => target.phase <= phase)).toBe(true)
      expect(settled || rebooted.length === 0).toBe(true)
      const begun = commanded.filter(({ attempt, state }) => attempt === 0 && state === 'planned')
      for (const { downloadPhase } of begun)
        if (downloadPhase !== null) expect(Math.min(...loading)).toBeGreaterThanOrEqual(downloadPhase)
      const restarting = world.fleet.filter(
        ({ target, command }) => isInFlight(target.state) && command?.kind !== 'stage' && target.rank !== null,
      )
      expect(new Set(restarting.map(({ target }) => target.rank)).size).toBeLessThan(2)
      // A phase reboots together, once it has all its images.
      for (const one of commanded.filter(({ downloadPhase, attempt }, place) => {
        return downloadPhase !== null && attempt === 1 && orders[place] === 'activate'
      }))
        expect(awaiting.filter(({ target }) => target.phase <= one.phase)).toEqual([])
    }
    for (const one of world.fleet) {
      live(one, world.now)
      if (one.flashed > 1 || one.restored > 1) throw new Error(`${one.target.deviceId} was flashed twice`)
    }
    // Devices live by the second; where only the dead are waited for, time may leap.
    const idle = world.fleet.every(
      ({ fate, device, target: { state } }) =>
        !isInFlight(state) ||
        ((state === 'rebooting' || state === 'rolling_back') &&
          (fate === 'never_returns' || (fate === 'returns_late' && device.link === 'absent'))),
    )
    world.now = new Date(world.now.getTime() + (idle && commanded.length === 0 && rounds > 100 ? leapOf(world) : 1000))
  }
}
