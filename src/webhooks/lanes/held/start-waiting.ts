import type { Clock } from '../../../platform/time/clock.ts'
import { type LaneState, isUndecided } from './lane-state.ts'

/** A lane whose next message has to wait longer is released. */
const MAX_PACING_MS = 250

/** Starts the messages of a held lane that wait, in order, as many as it may have in flight. A lane that gets no slot must try again soon. */
export function startWaiting(clock: Clock, state: LaneState): void {
  while (startNext(clock, state));
}

/** @returns False if the lane may start nothing now. */
function startNext(clock: Clock, state: LaneState): boolean {
  const { waiting, requests, outcomes, pace, lease, flusher, turn } = state
  const next = waiting.next()
  if (next === undefined || state.closing || requests.inFlight() >= outcomes.width()) return false
  if (!isInTime(clock, state)) return false
  if (isUndecided(state)) {
    void flusher.flush()
    return false
  }
  if (!lease.isConfirmed()) {
    state.closing = true
    return false
  }
  const slot = flusher.hasRoom() ? turn.start() : null
  if (slot === null) return false
  waiting.start(next)
  pace.start()
  requests.start(next, slot)
  return true
}

/** False if the rate limit of the webhook delays the next message. A lane that would wait for long closes instead. */
function isInTime(clock: Clock, state: LaneState): boolean {
  const until = state.pace.pausedUntil()
  if (until === null) return true
  state.closing ||= until.getTime() - clock.now().getTime() > MAX_PACING_MS
  return false
}
