/** Limits the events of a round. */
export const MAX_EVENTS = 1000
/** Each round has a search, so tiny rounds would mostly search. */
const MIN_EVENTS = 100
/** All other events wait for the end of a round, so one with many events should take no longer. */
const ROUND_MS = 20

/**
 * Returns for how many events the next round is planned, after one of `events` that took `tookMs`. The backlog of one
 * organization is then routed in rounds that are short for the others, however fast the machine is.
 */
export function decideRoundSize(events: number, tookMs: number): number {
  const fitting = Math.round((events * ROUND_MS) / Math.max(tookMs, 1))
  return Math.min(Math.max(fitting, MIN_EVENTS), MAX_EVENTS)
}
