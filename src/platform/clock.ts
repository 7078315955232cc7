/** Time as a dependency: tests control it. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

/** The last second of the year 9999, which every calendar can represent. */
export const MAX_EPOCH_S = 253_402_300_799

/** Returns epoch seconds with a fraction, as `created_time` and `timestamp` on the wire. */
export function epochS(date: Date): number {
  return date.getTime() / 1000
}

export function addMs(date: Date, ms: number): Date {
  return new Date(date.getTime() + ms)
}
