/** The number of messages that a webhook may get in a period. */
export interface RateLimit {
  readonly messages: number
  readonly periodMs: number
}

/** The pace of a lane: when its next message may start. */
export interface Pace {
  readonly nextMs: number
}

/** The unused part of the last moment may be used later: otherwise late timers would lower the rate. */
const SLACK_MS = 100

/** Returns the pace of a lane whose next message may not start before `from`. */
export function firstPace(from: Date | null): Pace {
  return { nextMs: from?.getTime() ?? 0 }
}

/**
 * Returns the pace after a message that starts now; null if none may start now. Messages have equal distances, so that
 * a receiver never gets the messages of a whole period in one burst.
 */
export function decideStart(limit: RateLimit, pace: Pace, now: Date): Pace | null {
  if (isPaused(limit, pace, now)) return null
  return { nextMs: Math.max(Math.min(pace.nextMs, now.getTime()), now.getTime() - SLACK_MS) + distanceMs(limit) }
}

/** Returns until when no message may start; null if one may start now. */
export function pausedUntil(limit: RateLimit, pace: Pace, now: Date): Date | null {
  return isPaused(limit, pace, now) ? nextAt(pace) : null
}

/** Returns the time from which firstPace() goes on. */
export function nextAt({ nextMs }: Pace): Date {
  return new Date(Math.ceil(nextMs))
}

function distanceMs({ messages, periodMs }: RateLimit): number {
  return periodMs / messages
}

/**
 * A message never waits for longer than its distance from the one before, except by a small correction of the clock. If it would,
 * the clock was set back.
 */
function isPaused(limit: RateLimit, { nextMs }: Pace, now: Date): boolean {
  const waitMs = nextMs - now.getTime()
  return waitMs > 0 && waitMs <= distanceMs(limit) + SLACK_MS
}

/** Returns how many messages may start within `ms`; at least one. */
export function messagesWithin({ messages, periodMs }: RateLimit, ms: number): number {
  return Math.max(1, Math.ceil(((ms + SLACK_MS) * messages) / periodMs))
}
