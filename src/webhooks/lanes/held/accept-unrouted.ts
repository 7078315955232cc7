import { type LaneState, isUndecided } from './lane-state.ts'

/**
 * A lane that gathers events takes one alone while it has fewer requests in flight: to route one costs about as much as to send
 * this many.
 */
const GATHERING_FROM = 4

/** True if a held lane may accept an event that is not routed. */
export function mayAccept(state: LaneState): boolean {
  const { lease, flusher } = state
  if (!state.isSimple || !state.hasAll || state.closing || isGathering(state)) return false
  return lease.isConfirmed() && flusher.hasRoom()
}

/** Returns how many events of a backlog a held lane accepts; null if they have to be routed. */
export function roomForBacklog(state: LaneState): number | null {
  return state.isSingle && mayAccept(state) ? state.waiting.room() : null
}

/** True for a lane that gathers events and could not start one at once. */
function isGathering(state: LaneState): boolean {
  const { isSingle, waiting, requests, outcomes } = state
  if (isSingle) return false
  const isBusy = waiting.count() > 0 || requests.inFlight() >= Math.min(outcomes.width(), GATHERING_FROM)
  return isBusy || isUndecided(state)
}

/** Writes the messages that are not in the database into it, so that those behind them don't overtake them. */
export function writeUnrouted(state: LaneState): void {
  for (const { message, unrouted } of state.waiting.takeUnrouted()) {
    state.hasAll = false
    state.results.addUnsent(message, unrouted)
  }
}
