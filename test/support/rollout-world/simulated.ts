// The devices of a world: each has a fate, and lives by the second.
import type { CommandNow, DeviceNow, DownloadNow, TargetNow } from '../../../src/rollout/targets/target.ts'

/** The fate of a device in an upgrade. */
export const fates = [
  'good',
  'refuses',
  'old_version',
  'never_returns',
  'returns_late',
  'loses_restore',
  'lost_early',
  'lost_late',
  'lost_bytes',
  'absent',
  'comes_late',
] as const
export type Fate = (typeof fates)[number]

export interface Simulated {
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

export const start = new Date('2026-03-01T00:00:00Z')
export const serviceMs = (now: Date): number => now.getTime() - start.getTime()

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
  return !comesBackLate(fate) || restored > 0 || serviceMs(now) >= goneMs + LATE_MS
}

/** These devices are the ones that are restored. */
export function comesBackLate(fate: Fate): boolean {
  return fate === 'returns_late' || fate === 'loses_restore'
}

function answer(one: Simulated, command: CommandNow, now: Date): void {
  const end = (state: CommandNow['state']): void => {
    one.command = { ...command, state, refusal: 'no' }
  }
  if (one.fate === 'refuses') return end('rejected')
  if (one.fate === 'lost_early' && one.target.attempt < 2) return end('unknown')
  if (one.fate === 'loses_restore' && command.kind === 'restore_backup' && one.target.failedAttempts < 2)
    return loseRestore(one, command, now)
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

/** The connection breaks before the request arrives; the device is back at once, as it was. */
function loseRestore(one: Simulated, command: CommandNow, now: Date): void {
  one.command = { ...command, state: 'unknown', loss: 'connection_lost' }
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
