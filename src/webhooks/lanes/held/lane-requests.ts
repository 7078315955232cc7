import type { Context } from '../../../platform/context.ts'
import type { Turn } from '../../delivery/admission/admission.ts'
import type { Slot } from '../../delivery/admission/request-slots.ts'
import { type Attempt, deliverMessage } from '../../delivery/deliver-message.ts'
import type { ClaimedLane } from '../../delivery/store.ts'
import { type DeliverOptions, receiverOf } from '../../requests/receiver.ts'
import type { WaitingMessage } from './waiting-messages.ts'

/** The requests of a held lane. */
export interface LaneRequests {
  readonly inFlight: () => number
  /** How long all of them have taken, without what was subtracted. */
  readonly tookMs: () => number
  readonly subtractMs: (ms: number) => void
  start(waiting: WaitingMessage, slot: Slot): void
  /** Leaves out replaced secrets that have ended. */
  renewReceiver(): void
}

interface RequestsOptions extends DeliverOptions {
  readonly lane: ClaimedLane
  readonly turn: Pick<Turn, 'subtract'>
  readonly nowMs: () => number
  /** Called with each attempt that has ended; null if it was aborted. */
  readonly onAttempt: (attempt: Attempt | null, waiting: WaitingMessage) => void
  /** Called when an attempt, or `onAttempt`, has failed by a defect. */
  readonly onFailure: (error: unknown) => void
  /** Called after these, when the request counts no more. */
  readonly onEnd: () => void
}

export function createLaneRequests(
  ctx: Context,
  { lane, turn, nowMs, onAttempt, onFailure, onEnd, ...options }: RequestsOptions,
): LaneRequests {
  let receiver = receiverOf(ctx, lane)
  let inFlight = 0
  let tookMs = 0

  async function send(waiting: WaitingMessage, slot: Slot): Promise<void> {
    const { message, unrouted } = waiting
    const startedMs = nowMs()
    inFlight += 1
    try {
      onAttempt(await deliverMessage(ctx, options, { receiver, message, signal: slot.signal }), waiting)
    } catch (error) {
      unrouted?.onEnd('returned')
      onFailure(error)
    }
    slot.end()
    turn.subtract(message.body.length)
    inFlight -= 1
    tookMs += nowMs() - startedMs
    onEnd()
  }

  return {
    inFlight: () => inFlight,
    tookMs: () => tookMs,
    subtractMs(ms) {
      tookMs -= ms
    },
    start: (waiting, slot) => void send(waiting, slot),
    renewReceiver() {
      receiver = receiverOf(ctx, lane)
    },
  }
}
