import type { Profile, Timing } from './device.ts'
import type { Fault } from './faults.ts'

/** How fast the world of a fleet turns: times before `timeScale`, which shortens or stretches all of them but the reports. */
export interface Pace {
  readonly bootMs: number
  readonly flashMs: number
  /** Between reports that a configuration asks for. 0 = nobody has configured the devices: they report when asked to. */
  readonly stateIntervalMs: number
  /** Bytes a second of one download; 0 = as fast as they come. */
  readonly downloadBytesPerS: number
  /** Factor on boot, flash, and what real clients have built in: reconnecting, pauses around a reboot, progress. */
  readonly timeScale: number
  /** How long an access point waits for the answer to its upgrade request; others' time, so it has no scale. */
  readonly answerWaitMs: number
  /** Devices switched on per second. */
  readonly startsPerS: number
}

export const realPace: Pace = {
  bootMs: 30_000,
  flashMs: 60_000,
  stateIntervalMs: 0,
  downloadBytesPerS: 0,
  timeScale: 1,
  answerWaitMs: 5000,
  startsPerS: 200,
}

const SLOWNESS = 10
/** A slow device's share of an unlimited line. */
const SLOW_BYTES_PER_S = 1024 * 1024

export function timingOf(pace: Pace, faults: ReadonlySet<Fault>): Timing {
  const slowness = faults.has('slow') ? SLOWNESS : 1
  return {
    bootMs: pace.bootMs * pace.timeScale * slowness,
    flashMs: pace.flashMs * pace.timeScale * slowness,
    triggerMs: 10_000 * pace.timeScale * slowness,
    goodbyeMs: 10_000 * pace.timeScale,
    statusMs: Math.max(1, 1000 * pace.timeScale),
    flapMs: 15_000 * pace.timeScale,
  }
}

/** Bytes a second; 0 = no limit. */
export function downloadRate(pace: Pace, faults: ReadonlySet<Fault>): number {
  if (!faults.has('slow')) return pace.downloadBytesPerS
  return pace.downloadBytesPerS === 0 ? SLOW_BYTES_PER_S : pace.downloadBytesPerS / SLOWNESS
}

/**
 * The wait before the next attempt, as the two real clients have it; neither adds jitter.
 *
 * @param failures Attempts without success, the lost connection included: 1, 2, ...
 */
export function reconnectDelayMs(type: Profile['type'], failures: number, timeScale: number): number {
  const seconds = type === 'ap' ? Math.min(900, 10 * failures) : 5
  return seconds * 1000 * timeScale
}

/** The client of access points starts itself anew when it has been offline for so long; that of switches never does. */
export function watchdogMs(type: Profile['type'], timeScale: number): number | null {
  return type === 'ap' ? 300_000 * timeScale : null
}

/** WebSocket ping of the real clients. */
export function pingIntervalMs(type: Profile['type']): number {
  return type === 'ap' ? 60_000 : 300_000
}
