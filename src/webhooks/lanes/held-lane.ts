import type { Context } from '../../platform/context.ts'
import type { Turn } from '../delivery/admission.ts'
import type { Slot } from '../delivery/request-slots.ts'
import { IDLE_AFTER_FAILURE_MS, decideIdleMs } from './decide-idle.ts'
import { latest } from './decide-lane.ts'
import { type Attempt, deliverMessage } from '../delivery/deliver-message.ts'
import { orderOf, rateLimitOf } from '../delivery-options.ts'
import { disableGoneWebhook } from '../health/disable-webhook.ts'
import type { Flusher } from '../delivery/flush.ts'
import { type DeliverOptions, receiverOf } from '../requests/receiver.ts'
import type { ClaimedLane, DueMessage } from '../delivery/store.ts'
import type { WebhookLimits } from '../limits.ts'
import type { LaneLoan } from '../routing/store-routed.ts'
import { START_WITHIN_MS, createLaneLease } from './lane-lease.ts'
import { createLaneOutcomes } from './lane-outcomes.ts'
import { createLanePace } from './lane-pace.ts'
import { createLaneResults } from './lane-results.ts'
import { type RoomNotice, createRoomNotice } from './room-notice.ts'
import { createSpareCount, maxSpareOf } from './spare-count.ts'
import type { HeldLaneKey, KnownLane } from './store.ts'
import { type Acceptance, type EndOfUnrouted, type WaitingMessage, createWaitingMessages } from './waiting-messages.ts'

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
   */
  age(lanes: number): void
  /** Resolves when the lane is released: with true when messages are left that may be due. Rejects if it could not be. */
  readonly ended: Promise<boolean>
}

/** Limits the messages of a lane that a crash repeats: those in flight and those whose results are not yet written. */
const MAX_UNDECIDED = 32
/**
 * A lane that gathers events takes one alone while it has fewer requests in flight: to route one costs about as much as to send
 * this many.
 */
const GATHERING_FROM = 4
/** A lane whose next message has to wait longer is released. */
const MAX_PACING_MS = 250

interface HoldOptions extends DeliverOptions {
  readonly flusher: Flusher
  readonly limits: WebhookLimits
  readonly minIdleMs: number
  /** The clock of the lane. */
  readonly laneMs: () => number
}

/**
 * Sends the messages of a leased lane in order, and then those that it gets later. The lane is released when it is idle
 * or no longer confirmed, when the breaker opens, the receiver is gone, a request was aborted, too many results wait for
 * the database, or no slot is free.
 */
export function holdLane(
  ctx: Context,
  { flusher, limits, minIdleMs, laneMs: nowMs, ...options }: HoldOptions,
  { lane, turn }: { readonly lane: ClaimedLane; readonly turn: Turn },
): HeldLane {
  let receiver = receiverOf(ctx, lane)
  const heldMs = nowMs()
  const lease = createLaneLease(nowMs)
  const ended = Promise.withResolvers<boolean>()
  const order = orderOf(lane.webhook.doc)
  const outcomes = createLaneOutcomes(ctx.clock, { before: lane, order })
  const waiting = createWaitingMessages(turn, { order, first: lane.messages, nowMs })
  const spare = createSpareCount(maxSpareOf(limits))
  const results = createLaneResults({ flusher, lane, spare, order, onWritten: proceed, onFailure: fail })
  let loans = 0
  let inFlight = 0
  let slotMs = 0
  let idleSinceMs = heldMs
  const pace = createLanePace(ctx.clock, { limit: rateLimitOf(lane.webhook.doc), from: lane.openUntil })
  /** False when the database has messages that may be due and are not in memory. */
  let hasAll = lane.hasAll && order !== 'device'
  // Messages that can't start before the lane is released would occupy memory that others need.
  if (!waiting.keepFirst(pace.messagesWithin(START_WITHIN_MS))) hasAll = false
  let closing = false
  let releasing = false
  let failure: { readonly error: unknown } | null = null

  function fail(error: unknown): void {
    failure ??= { error }
    closing = true
    proceed()
  }

  function settle(attempt: Attempt | null, message: DueMessage, onEnd: EndOfUnrouted | null): void {
    if (attempt === null) {
      closing = true
      onEnd?.('returned')
      return
    }
    outcomes.add(attempt)
    if (!waiting.end(message, attempt.record.nextAttempt === null)) hasAll = false
    closing ||= outcomes.isGone() || outcomes.health().openUntil !== null
    // Last, because `onEnd` must be called once, even if the above fails.
    results.addAttempt({ attempt, failures: outcomes.health() }, message, onEnd)
  }

  async function send({ message, unrouted }: WaitingMessage, slot: Slot): Promise<void> {
    const onEnd = unrouted?.onEnd ?? null
    const startedMs = nowMs()
    inFlight += 1
    try {
      settle(await deliverMessage(ctx, options, { receiver, message, signal: slot.signal }), message, onEnd)
    } catch (error) {
      onEnd?.('returned')
      fail(error)
    }
    slot.end()
    turn.subtract(message.body.length)
    inFlight -= 1
    slotMs += nowMs() - startedMs
    proceed()
  }

  /** False if the rate limit of the webhook delays the next message. A lane that would wait for long is released instead. */
  function isInTime(): boolean {
    const until = pace.pausedUntil()
    if (until === null) return true
    closing ||= until.getTime() - ctx.clock.now().getTime() > MAX_PACING_MS
    return false
  }

  /** @returns False if the lane may start nothing now. */
  function startNext(): boolean {
    const next = waiting.next()
    if (next === undefined || closing || inFlight >= outcomes.width() || !isInTime()) return false
    if (inFlight + results.unwritten() >= MAX_UNDECIDED) {
      void flusher.flush()
      return false
    }
    const isLate = !lease.isConfirmed()
    const slot = isLate || !flusher.hasRoom() ? null : turn.start()
    if (slot === null) {
      closing = isLate || inFlight === 0
      return false
    }
    waiting.start(next)
    pace.start()
    void send(next, slot)
    return true
  }

  const isSimple = order === null && !pace.isLimited && (lane.webhook.doc['filter'] ?? null) === null
  const isSingle = lane.webhook.doc['single_event_per_message'] === true

  /** True for a lane that gathers events and could not start one at once. */
  function isGathering(): boolean {
    if (isSingle) return false
    const isBusy = waiting.count() > 0 || inFlight >= Math.min(outcomes.width(), GATHERING_FROM)
    return isBusy || inFlight + results.unwritten() >= MAX_UNDECIDED
  }

  function mayAccept(): boolean {
    if (!isSimple || !hasAll || closing || isGathering()) return false
    return lease.isConfirmed() && flusher.hasRoom()
  }

  /** Writes the messages that are not in the database into it, so that those behind them don't overtake them. */
  function writeUnrouted(): void {
    for (const { message, unrouted } of waiting.takeUnrouted()) {
      hasAll = false
      results.addUnsent(message, unrouted)
    }
  }

  const roomForBacklog = (): number | null => (isSingle && mayAccept() ? waiting.room() : null)

  const roomNotice = createRoomNotice(roomForBacklog)

  function proceed(): void {
    while (startNext());
    if (closing) writeUnrouted()
    roomNotice.check()
    if (inFlight > 0) return
    if (waiting.count() === 0) idleSinceMs = nowMs()
    if (!hasAll && waiting.count() === 0) closing = true
    if (closing && !releasing && loans === 0) void release()
  }

  /** True if a new message would be the only one. */
  const isIdle = (): boolean => waiting.count() === 0 && inFlight === 0 && results.unwritten() === 0

  /** True when the lane has messages that may be due soon. */
  const isLeft = (): boolean => !hasAll || outcomes.hasFailed() || waiting.count() > 0

  async function release(): Promise<void> {
    releasing = true
    try {
      if (failure !== null) throw failure.error
      if (outcomes.isGone()) {
        // The messages that the lane has written stay, but an event that is not a message by then finds no webhook.
        await flusher.flush()
        // This comes before the release of the lane, so that the next claim sees it.
        await disableGoneWebhook(ctx, lane)
      }
      const health = outcomes.health()
      const openUntil = latest(health.openUntil, pace.pausedUntil())
      const released = results.release({ ...health, openUntil, slotSeconds: slotMs / 1000 })
      // Events that come before the release need a claim.
      if (isLeft() || nowMs() - idleSinceMs < IDLE_AFTER_FAILURE_MS) void flusher.flush()
      await released
      ended.resolve(isLeft())
    } catch (error) {
      ended.reject(error)
    }
  }

  function close(): void {
    hasAll = false
    closing = true
    proceed()
  }

  proceed()
  return {
    key: { orgId: lane.orgId, webhookId: lane.webhookId, epoch: lane.epoch },
    ended: ended.promise,
    push(messages) {
      for (const message of messages) {
        hasAll &&= !closing && waiting.add(message)
      }
      proceed()
    },
    accept(message, acceptance) {
      if (!mayAccept() || !waiting.add(message, { ...acceptance, acceptedAt: ctx.clock.now() })) return false
      proceed()
      return true
    },
    roomForBacklog,
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
    stateToConfirm(afterMs) {
      const now = nowMs()
      if (!isSimple || closing || !hasAll || outcomes.hasFailed() || outcomes.health().failures > 0) return null
      if (!lease.isToConfirm(afterMs)) return null
      const { orgId, webhookId, epoch, webhook } = lane
      // The lease of an idle lane suffices for the time that it is held.
      const isUsed = !isIdle() || now - idleSinceMs < minIdleMs
      const extend = isUsed && lease.isToExtend()
      return { orgId, webhookId, epoch, version: webhook.version, extend, slotSeconds: slotMs / 1000 }
    },
    confirm(atMs, extended) {
      lease.confirm(atMs, extended !== null)
      if (extended === null) return
      slotMs -= extended.slotSeconds * 1000
      // A replaced secret may have ended.
      receiver = receiverOf(ctx, lane)
    },
    age(lanes) {
      const now = nowMs()
      const idleMs = isIdle() ? now - idleSinceMs : 0
      const hasFailedMessage = outcomes.hasFailed()
      const usedMs = idleSinceMs - heldMs
      const most = decideIdleMs({ usedMs, accepts: isSimple, hasFailedMessage, lanes, minIdleMs })
      if (idleMs >= most || !lease.isConfirmed()) {
        closing = true
        proceed()
      } else if (pace.isLimited) proceed()
      else if (idleMs >= minIdleMs) results.correctCount()
    },
  }
}
