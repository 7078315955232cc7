/** Time as a dependency: tests control it. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

/** Milliseconds that never go back. All threads of the process have the same ones, unlike `performance.now()`. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}

/** The last second of the year 9999, which every calendar can represent. */
export const MAX_EPOCH_S = 253_402_300_799

/** Returns epoch seconds with a fraction, as `created_time` and `timestamp` on the wire. */
export function epochS(date: Date): number {
  return date.getTime() / 1000
}

/** Differences of epoch seconds have more digits than their times. */
export function roundToMs(seconds: number): number {
  return Math.round(seconds * 1000) / 1000
}

export function addMs(date: Date, ms: number): Date {
  return new Date(date.getTime() + ms)
}
