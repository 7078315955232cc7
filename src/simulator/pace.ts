import type { Profile, Timing } from './ucentral/device.ts'
import type { Fault } from './faults.ts'

/** The speed of a fleet. `timeScale` multiplies all times except the interval of reports and `answerWaitMs`. */
export interface Pace {
  readonly bootMs: number
  readonly flashMs: number
  /** The interval of reports that a configuration sets; 0: devices have no configuration and report on request. */
  readonly stateIntervalMs: number
  /** Bytes per second of one download; 0 means no limit. */
  readonly downloadBytesPerS: number
  /** Multiplies boot and flash times and the clients' built-in times: reconnecting, reboot pauses, progress. */
  readonly timeScale: number
  /** How long an access point waits for the answer to its upgrade request; not scaled, because the server is not. */
  readonly answerWaitMs: number
  /** The number of devices that are switched on per second. */
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
/** The download rate of a slow device on an unlimited line. */
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

/** Returns bytes per second; 0 means no limit. */
export function downloadRate(pace: Pace, faults: ReadonlySet<Fault>): number {
  if (!faults.has('slow')) return pace.downloadBytesPerS
  return pace.downloadBytesPerS === 0 ? SLOW_BYTES_PER_S : pace.downloadBytesPerS / SLOWNESS
}

/**
 * Returns the wait before the next attempt, as in the two real clients; neither adds jitter.
 *
 * @param failures The number of failures in a row, including the lost connection: 1, 2, ...
 */
export function reconnectDelayMs(type: Profile['type'], failures: number, timeScale: number): number {
  const seconds = type === 'ap' ? Math.min(900, 10 * failures) : 5
  return seconds * 1000 * timeScale
}

/**
 * The time offline after which the client of access points restarts itself; null for switches, whose client never does.
 */
export function watchdogMs(type: Profile['type'], timeScale: number): number | null {
  return type === 'ap' ? 300_000 * timeScale : null
}

/** The WebSocket ping interval of the real clients. */
export function pingIntervalMs(type: Profile['type']): number {
  return type === 'ap' ? 60_000 : 300_000
}
