import type { DeliveryOrder } from '../../delivery-options.ts'
import type { Turn } from '../../delivery/admission/admission.ts'
import type { Flusher } from '../../delivery/flush.ts'
import type { ClaimedLane } from '../../delivery/store.ts'
import type { LaneLease } from './lane-lease.ts'
import type { LaneOutcomes } from './lane-outcomes.ts'
import type { LanePace } from './lane-pace.ts'
import type { LaneRequests } from './lane-requests.ts'
import type { LaneResults } from './lane-results.ts'
import type { WaitingMessages } from './waiting-messages.ts'

/** The parts of a held lane, and what none of them knows. */
export interface LaneState {
  readonly lane: ClaimedLane
  readonly order: DeliveryOrder | null
  readonly turn: Turn
  readonly lease: LaneLease
  readonly waiting: WaitingMessages
  readonly pace: LanePace
  readonly requests: LaneRequests
  readonly outcomes: LaneOutcomes
  readonly results: LaneResults
  readonly flusher: Flusher
  /** True if nothing but its room decides which events the lane accepts unrouted. */
  readonly isSimple: boolean
  /** False for a lane that gathers events in messages. */
  readonly isSingle: boolean
  readonly heldMs: number
  idleSinceMs: number
  /** False when the database has messages that may be due and are not in memory. */
  hasAll: boolean
  /** True if it starts no further message, and is released when nothing of it runs. */
  closing: boolean
}

/** Limits the messages of a lane that a crash repeats: those in flight and those whose results are not yet written. */
const MAX_UNDECIDED = 32

/** True if too many messages are undecided to start another one. */
export function isUndecided({ requests, results }: LaneState): boolean {
  return requests.inFlight() + results.unwritten() >= MAX_UNDECIDED
}

/** True if a new message would be the only one. */
export function isIdle({ waiting, requests, results }: LaneState): boolean {
  return waiting.count() === 0 && requests.inFlight() === 0 && results.unwritten() === 0
}

/** True if the lane has messages that may be due soon. */
export function isLeft({ hasAll, outcomes, waiting }: LaneState): boolean {
  return !hasAll || outcomes.hasFailed() || waiting.count() > 0
}
