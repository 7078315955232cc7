import type { Context } from '../../../platform/context.ts'
import type { Attempt } from '../../delivery/deliver-message.ts'
import type { DueMessage } from '../../delivery/store-due.ts'
import type { LaneLoan } from '../../routing/store-routed.ts'
import { createSpareCount, maxSpareOf } from '../spare-count.ts'
import type { HeldLaneKey, KnownLane } from '../store.ts'
import { mayAccept, roomForBacklog, writeUnrouted } from './accept-unrouted.ts'
import { type HoldOptions, type LeasedLane, createLaneState } from './create-lane-state.ts'
import { createFurtherMessages } from './further-messages.ts'
import { ageLane, confirmLane, stateToConfirm } from './keep-lane.ts'
import { releaseLane } from './release-lane.ts'
import { type RoomNotice, createRoomNotice } from './room-notice.ts'
import { startWaiting } from './start-waiting.ts'
import type { Acceptance, WaitingMessage } from './waiting-messages.ts'

/** A lane that this process has leased. Its messages are in memory and in the database, except those that it has accepted unrouted. */
export interface HeldLane {
  readonly key: HeldLaneKey
  /**
   * Accepts messages that were routed after the lease began. They must be accepted completely, and in order: after a
   * message that it refuses, the lane accepts none, and ends soon. Refused messages stay due in the database.
   */
  push(messages: readonly DueMessage[]): void
  /**
   * Accepts a message that is not routed, to be sent after those that wait. @returns False if it has to be routed; then
   * `onEnd` is not called.
   */
  accept(message: DueMessage, acceptance: Acceptance): boolean
  /** Starts messages that have waited for a slot, as many as there are slots now. */
  startWaiting(): void
  /** How many events of a backlog it accepts now; null if they have to be routed. */
  roomForBacklog(): number | null
  readonly awaitRoom: RoomNotice['request']
  /**
   * Lends up to `wanted` of what the lane's row counts beyond its messages. endLoan() must follow, and the lane is not
   * released before. Null if it is being released.
   */
  lend(wanted: number): LaneLoan | null
  /** @param unused What the row counts beyond the messages after the loan: what was not used of it, or was added. */
  endLoan(unused: number): void
  /** Starts no further message, because it may have one that only a claim finds. */
  close(): void
  /** The same because the webhook may have changed: what is not in the database is routed for what it is now. */
  closeChanged(): void
  /**
   * Returns what the database must confirm for the lane to be held longer; null if it was confirmed less than `afterMs`
   * ago, or is to be released.
   */
  stateToConfirm(afterMs: number): KnownLane | null
  /**
   * Lets the lane go on as if it had been leased at this time, on its clock.
   * @param extended The state for which the lease was extended; null if it was not.
   */
  confirm(atMs: number, extended: KnownLane | null): void
  /**
   * Closes the lane if it has been idle, or not confirmed, for long enough. Must be called often.
   * @param lanes How many lanes are held.
   * @returns True if messages of it are in flight or wait.
   */
  age(lanes: number): boolean
  /** Resolves when the lane is released: with true when messages are left that may be due. Rejects if it could not be. */
  readonly ended: Promise<boolean>
}

/**
 * Sends the messages of a leased lane in order, and then those that it gets later. The lane is released when it is idle
 * or no longer confirmed, when the breaker opens, the receiver is gone, or a request was aborted. While no slot is free, or too many
 * results wait for the database, its messages wait.
 */
export function holdLane(ctx: Context, options: HoldOptions, leased: LeasedLane): HeldLane {
  const { minIdleMs, laneMs: nowMs, widths } = options
  const { lane } = leased
  const ended = Promise.withResolvers<boolean>()
  const spare = createSpareCount(maxSpareOf(options.limits))
  const state = createLaneState(ctx, options, { ...leased, spare, proceed, fail, onAttempt: settle })
  const { waiting, outcomes, requests, results } = state
  const further = createFurtherMessages(ctx, state, proceed)
  const roomNotice = createRoomNotice(() => roomForBacklog(state))
  let loans = 0
  let releasing = false
  let failure: { readonly error: unknown } | null = null

  function fail(error: unknown): void {
    failure ??= { error }
    state.closing = true
    proceed()
  }

  function settle(attempt: Attempt | null, { message, unrouted }: WaitingMessage): void {
    const onEnd = unrouted?.onEnd ?? null
    if (attempt === null) {
      state.closing = true
      onEnd?.('returned')
      return
    }
    outcomes.add(attempt)
    if (!waiting.end(message, attempt.record.nextAttempt === null)) state.hasAll = false
    state.closing ||= outcomes.isGone() || outcomes.health().openUntil !== null
    // Last, because `onEnd` must be called once, even if the above fails.
    results.addAttempt({ attempt, failures: outcomes.health() }, message, onEnd)
  }

  function proceed(): void {
    startWaiting(ctx.clock, state)
    if (state.closing) writeUnrouted(state)
    roomNotice.check()
    further.check()
    if (requests.inFlight() > 0) return
    if (waiting.count() === 0) state.idleSinceMs = nowMs()
    if (!state.hasAll && waiting.count() === 0 && !further.isPending()) state.closing = true
    if (!state.closing || releasing || loans > 0) return
    releasing = true
    release().then(ended.resolve, ended.reject)
  }

  async function release(): Promise<boolean> {
    if (failure !== null) throw failure.error
    // A slow receiver would otherwise get few requests most of the time, because its lane is released every few seconds, and few
    // at the beginning of each burst.
    const { failures, openUntil } = outcomes.health()
    const isPaused = openUntil !== null && openUntil > ctx.clock.now()
    if (failures === 0 && !isPaused) widths.keep(lane, outcomes.width())
    return releaseLane(ctx, state, nowMs)
  }

  /** What waits may start now: others have released slots, results were written, or the time of the next message has come. */
  function retry(): void {
    if (waiting.count() > 0) proceed()
  }

  function close(): void {
    state.hasAll = false
    state.closing = true
    proceed()
  }

  proceed()
  return {
    key: { orgId: lane.orgId, webhookId: lane.webhookId, epoch: lane.epoch },
    ended: ended.promise,
    push(messages) {
      for (const message of messages) {
        state.hasAll &&= !state.closing && waiting.add(message)
      }
      proceed()
    },
    accept(message, acceptance) {
      if (!mayAccept(state) || !waiting.add(message, { ...acceptance, acceptedAt: ctx.clock.now() })) return false
      proceed()
      return true
    },
    startWaiting: retry,
    roomForBacklog: () => roomForBacklog(state),
    awaitRoom: roomNotice.request,
    lend(wanted) {
      if (releasing) return null
      loans += 1
      return { epoch: lane.epoch, messages: spare.take(wanted), ahead: spare.ahead }
    },
    endLoan(unused) {
      loans -= 1
      spare.add(unused)
      proceed()
    },
    close,
    closeChanged() {
      for (const { unrouted } of waiting.takeUnrouted()) unrouted.onEnd('unsent')
      outcomes.change()
      close()
    },
    stateToConfirm: (afterMs) => stateToConfirm(state, afterMs, { nowMs: nowMs(), minIdleMs }),
    confirm: (atMs, extended) => confirmLane(state, atMs, extended),
    age(lanes) {
      ageLane(state, lanes, { nowMs: nowMs(), minIdleMs })
      if (state.closing) proceed()
      else retry()
      return requests.inFlight() + waiting.count() > 0
    },
  }
}
