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
export function decideStart({ messages, periodMs }: RateLimit, { nextMs }: Pace, now: Date): Pace | null {
  const nowMs = now.getTime()
  if (nextMs > nowMs) return null
  return { nextMs: Math.max(nextMs, nowMs - SLACK_MS) + periodMs / messages }
}

/** Returns until when no message may start; null if one may start now. */
export function pausedUntil({ nextMs }: Pace, now: Date): Date | null {
  return nextMs > now.getTime() ? new Date(Math.ceil(nextMs)) : null
}

/** Returns how many messages may start within so many milliseconds; at least one. */
export function messagesWithin({ messages, periodMs }: RateLimit, ms: number): number {
  return Math.max(1, Math.ceil(((ms + SLACK_MS) * messages) / periodMs))
}
