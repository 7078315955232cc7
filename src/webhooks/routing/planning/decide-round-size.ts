/** Limits the events of a round. */
export const MAX_EVENTS = 1000
/** Tiny rounds would mostly search. */
const MIN_EVENTS = 100
/** The size of the first round of a backlog that is announced, before it is known how long rounds take. */
export const FIRST_EVENTS = 200
/** Events that are committed meanwhile wait for the end of a round, so it should take no longer. */
const ROUND_MS = 8
/** Rounds become longer again while nothing waits for their end, because long ones cost less per event. */
const GROWTH = 1.2

interface PastRound {
  readonly events: number
  readonly tookMs: number
  /** How long the search before it took; reading the rows that an open transaction retains may take long. */
  readonly searchMs: number
  /** True if other events have begun to wait for its end, or were sent without being routed meanwhile. */
  readonly isAwaited: boolean
}

/**
 * Returns for how many events the next round is planned. The backlog of one organization is then routed in rounds that are
 * short for the others, however fast the machine is.
 */
export function decideRoundSize({ events, tookMs, searchMs, isAwaited }: PastRound): number {
  const roundMs = Math.max(ROUND_MS, searchMs)
  const fitting = Math.round(isAwaited ? (events * roundMs) / Math.max(tookMs, 1) : events * GROWTH)
  return Math.min(Math.max(fitting, MIN_EVENTS), MAX_EVENTS)
}
