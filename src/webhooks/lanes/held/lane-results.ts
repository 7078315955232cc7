import type { DeliveryOrder } from '../../delivery-options.ts'
import type { Flusher } from '../../delivery/flush.ts'
import type { AttemptOutcome, FlushEntry } from '../../delivery/write-entries.ts'
import type { ClaimedLane } from '../../delivery/store.ts'
import type { DueMessage } from '../../delivery/store-due.ts'
import type { SpareCount } from '../spare-count.ts'
import type { LaneRelease } from '../store.ts'
import type { EndOfUnrouted, Unrouted } from './waiting-messages.ts'

/** An attempt, with the failures of the lane after it. */
type LaneAttempt = Pick<AttemptOutcome, 'attempt' | 'failures'>

/** The results of a held lane, which the flusher writes. */
export interface LaneResults {
  /** How many attempts are not yet written. */
  unwritten(): number
  /** @param onEnd Called with the end of a message that is not in the database; null for any other. */
  addAttempt(attempt: LaneAttempt, message: DueMessage, onEnd: EndOfUnrouted | null): void
  /** Writes a message that is not in the database, and was not started, into it. If the webhook has changed, it has to be routed. */
  addUnsent(message: DueMessage, unrouted: Unrouted): void
  /**
   * Subtracts from the row what it counts too much. A release would do the same, but a lane that was used for long is held
   * for longer than its count may be wrong.
   */
  correctCount(): void
  /** Resolves when the lane is released. */
  release(state: Omit<LaneRelease, 'orgId' | 'webhookId'>): Promise<void>
}

/** This many results of a lane are written without waiting for more, so that the lane need not stop at the limit meanwhile. */
const MANY_UNWRITTEN = 16

interface ResultsOptions {
  readonly flusher: Flusher
  readonly lane: ClaimedLane
  readonly spare: SpareCount
  readonly order: DeliveryOrder | null
  /** Called when an attempt is written. */
  readonly onWritten: () => void
  /** Called when something could not be written. */
  readonly onFailure: (error: unknown) => void
}

export function createLaneResults({ flusher, lane, spare, order, onWritten, onFailure }: ResultsOptions): LaneResults {
  let unwritten = 0
  let isCorrecting = false

  const add = (outcome: FlushEntry['outcome']): Promise<void> => flusher.add({ lane, spare, outcome })

  return {
    unwritten: () => unwritten,
    addAttempt({ attempt, failures }, { body }, onEnd) {
      unwritten += 1
      add({ attempt, failures, keepsPlace: order === 'webhook', unrouted: onEnd === null ? null : body }).then(
        () => {
          unwritten -= 1
          onEnd?.('written')
          onWritten()
        },
        (error: unknown) => {
          onEnd?.('returned')
          onFailure(error)
        },
      )
      // Once for each batch: those that come while it is written wait for more.
      if (unwritten === MANY_UNWRITTEN) void flusher.flush()
    },
    addUnsent(message, { onEnd, acceptedAt }) {
      const settle = (isKept: boolean): void => onEnd(isKept ? 'written' : 'unsent')
      const unsent = { message, acceptedAt, version: lane.webhook.version, settle }
      add({ unsent }).catch((error: unknown) => {
        onEnd('returned')
        onFailure(error)
      })
    },
    correctCount() {
      if (isCorrecting || spare.isZero()) return
      isCorrecting = true
      add({ corrects: true }).then(() => (isCorrecting = false), onFailure)
    },
    release: (state) => add({ release: state }),
  }
}
