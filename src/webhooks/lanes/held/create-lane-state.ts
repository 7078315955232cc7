import type { Context } from '../../../platform/context.ts'
import type { Turn } from '../../delivery/admission/admission.ts'
import type { Attempt } from '../../delivery/deliver-message.ts'
import { orderOf, rateLimitOf } from '../../delivery-options.ts'
import type { Flusher } from '../../delivery/flush.ts'
import type { ClaimedLane } from '../../delivery/store.ts'
import type { WebhookLimits } from '../../limits/limits.ts'
import type { DeliverOptions } from '../../requests/receiver.ts'
import type { SpareCount } from '../spare-count.ts'
import type { KeptWidths } from './kept-widths.ts'
import { START_WITHIN_MS, createLaneLease } from './lane-lease.ts'
import { createLaneOutcomes } from './lane-outcomes.ts'
import { createLanePace } from './lane-pace.ts'
import { createLaneRequests } from './lane-requests.ts'
import { createLaneResults } from './lane-results.ts'
import type { LaneState } from './lane-state.ts'
import { type WaitingMessage, createWaitingMessages } from './waiting-messages.ts'

export interface HoldOptions extends DeliverOptions {
  readonly flusher: Flusher
  readonly limits: WebhookLimits
  readonly widths: KeptWidths
  readonly minIdleMs: number
  /** The clock of the lane. */
  readonly laneMs: () => number
}

export interface LeasedLane {
  readonly lane: ClaimedLane
  readonly turn: Turn
}

interface LaneParts extends LeasedLane {
  readonly spare: SpareCount
  readonly onAttempt: (attempt: Attempt | null, waiting: WaitingMessage) => void
  /** Called when the lane may go on. */
  readonly proceed: () => void
  readonly fail: (error: unknown) => void
}

export function createLaneState(
  ctx: Context,
  { flusher, laneMs: nowMs, widths, ...options }: HoldOptions,
  { lane, turn, spare, onAttempt, proceed, fail }: LaneParts,
): LaneState {
  const { doc } = lane.webhook
  const order = orderOf(doc)
  const pace = createLanePace(ctx.clock, { limit: rateLimitOf(doc), from: lane.openUntil })
  const waiting = createWaitingMessages(turn, { order, first: lane.messages, nowMs })
  // Messages that can't start before the lane is released would occupy memory that others need.
  const areAllKept = waiting.keepFirst(pace.messagesWithin(START_WITHIN_MS))
  return {
    lane,
    order,
    turn,
    lease: createLaneLease(nowMs),
    waiting,
    pace,
    requests: createLaneRequests(ctx, { ...options, lane, turn, nowMs, onAttempt, onFailure: fail, onEnd: proceed }),
    outcomes: createLaneOutcomes(ctx.clock, { before: lane, width: widths.take(lane), order }),
    results: createLaneResults({ flusher, lane, spare, order, onWritten: proceed, onFailure: fail }),
    flusher,
    isSimple: order === null && !pace.isLimited && (doc['filter'] ?? null) === null,
    isSingle: doc['single_event_per_message'] === true,
    heldMs: nowMs(),
    idleSinceMs: nowMs(),
    hasAll: lane.hasAll && order !== 'device' && areAllKept,
    closing: false,
  }
}
