import type { Clock } from '../../../platform/time/clock.ts'
import { type RateLimit, decideStart, firstPace, messagesWithin, nextAt, pausedUntil } from '../decide-pace.ts'

/** The pace at which a held lane starts its messages. */
export interface LanePace {
  readonly isLimited: boolean
  /** Returns until when no message may start; null if one may start now. */
  pausedUntil(): Date | null
  /**
   * Returns from when the next lease of the lane goes on; null if it may start at once. It may be over: the lane has then not used
   * all of the last moment.
   */
  nextAt(): Date | null
  /** Must be called when a message starts. */
  start(): void
  /** Returns how many messages may start within `ms`. */
  messagesWithin(ms: number): number
}

/** @param from When the first message may start, at the earliest; null if it may at once. */
export function createLanePace(
  clock: Clock,
  { limit, from }: { readonly limit: RateLimit | null; readonly from: Date | null },
): LanePace {
  if (limit === null)
    return {
      isLimited: false,
      pausedUntil: () => null,
      nextAt: () => null,
      start: () => {},
      messagesWithin: () => Infinity,
    }
  let pace = firstPace(from)
  let isStarted = false
  return {
    isLimited: true,
    pausedUntil: () => pausedUntil(limit, pace, clock.now()),
    nextAt: () => (isStarted ? nextAt(pace) : from),
    start() {
      isStarted = true
      pace = decideStart(limit, pace, clock.now()) ?? pace
    },
    messagesWithin: (ms) => messagesWithin(limit, ms),
  }
}
