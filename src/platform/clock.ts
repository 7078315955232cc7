/** Time as a dependency: tests move it by hand. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

/** Epoch seconds with fraction, as the wire's `created_time` and `timestamp` have it. */
export function epochS(date: Date): number {
  return date.getTime() / 1000
}

export function addMs(date: Date, ms: number): Date {
  return new Date(date.getTime() + ms)
}
