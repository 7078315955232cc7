/** Time as a dependency: tests control it. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

/** Returns epoch seconds with a fraction, as `created_time` and `timestamp` on the wire. */
export function epochS(date: Date): number {
  return date.getTime() / 1000
}

export function addMs(date: Date, ms: number): Date {
  return new Date(date.getTime() + ms)
}
