/** How long an idle lane waits at least for another message, which then needs no claim, unless the workers have another time. */
export const MIN_IDLE_MS = 1000
/** The same for a lane with a message that will be tried again, which only a claim finds. */
export const IDLE_AFTER_FAILURE_MS = 500
/** An idle lane costs memory, and a row of a statement every two seconds. */
const MAX_IDLE_MS = 10_000
/** If more lanes are held, idle ones are released soon. */
const MAX_LONG_IDLE = 500

/** The facts that determine how long an idle lane is held. */
export interface IdleLane {
  /** How long it had been held when its last message ended. */
  readonly usedMs: number
  /** True if it accepts events that are not routed. Any other lane is leased again by the statement that routes its next message. */
  readonly accepts: boolean
  readonly hasFailedMessage: boolean
  /** How many lanes are held. */
  readonly lanes: number
  /** It is held for no less, unless a message will be tried again. */
  readonly minIdleMs: number
}

/**
 * Returns how long an idle lane is held: as long as it was used. So a lane in steady use outlasts a pause of its events, as
 * while the database is busy, and a rare event costs no more than a second.
 */
export function decideIdleMs({ usedMs, accepts, hasFailedMessage, lanes, minIdleMs }: IdleLane): number {
  if (hasFailedMessage) return Math.min(IDLE_AFTER_FAILURE_MS, minIdleMs)
  return accepts && lanes <= MAX_LONG_IDLE ? Math.min(Math.max(usedMs, minIdleMs), MAX_IDLE_MS) : minIdleMs
}
