import type { Context } from '../platform/context.ts'
import type { Slot, Turn } from './admission.ts'
import { FIRST_WIDTH, type LaneHealth, decideHealth, decideWidth, latest } from './decide-lane.ts'
import { decideStart, firstPace, messagesWithin, pausedUntil } from './decide-pace.ts'
import { type Attempt, deliverMessage } from './deliver-message.ts'
import { orderOf, rateLimitOf } from './delivery-options.ts'
import { disableGoneWebhook } from './disable-webhook.ts'
import type { Flusher } from './flush.ts'
import { createMessageOrder } from './message-order.ts'
import { type DeliverOptions, receiverOf } from './receiver.ts'
import type { ClaimedLane, DueMessage } from './store-deliver.ts'
import type { HeldLaneKey, KnownLane } from './store-lanes.ts'

/**
 * Receives the end of a message that was started before it was in the database: its result is written, or the message has
 * to be routed.
 */
export type EndOfUnrouted = (end: 'written' | 'returned') => void

/** A lane that this process has leased. Its messages are in memory and in the database. */
export interface HeldLane {
  readonly key: HeldLaneKey
  /**
   * Accepts messages that were routed after the lease began. They must be accepted completely, and in order: after a
   * message that it refuses, the lane accepts none, and ends soon. Refused messages stay due in the database.
   */
  push(messages: readonly DueMessage[]): void
  /** Starts a message that is not routed. @returns False if the lane does not start it at once; then `onEnd` is not called. */
  startNow(message: DueMessage, onEnd: EndOfUnrouted): boolean
  /** Starts no further message, because the webhook has changed or may have a message that only a claim finds. */
  close(): void
  /**
   * Returns what the database must confirm for the lane to be held longer; null if it was confirmed less than `afterMs`
   * ago, or is to be released.
   */
  stateToConfirm(afterMs: number): KnownLane | null
  /** Lets the lane go on as if it had been leased at this time, on the clock of `performance.now()`. */
  confirm(atMs: number): void
  /** Closes the lane if it has been idle or open for long enough. Must be called often. */
  age(): void
  /** Resolves when the lane is released: with true when messages are left that may be due. Rejects if it could not be. */
  readonly ended: Promise<boolean>
}

/** After this time a lane starts no further message, so that a change of the webhook takes effect soon. */
const START_WITHIN_MS = 3000
/**
 * Is less than the lease, by the time in which requests end and results are written. A request with two access tokens may
 * take longer: nobody claims the lane then, because this process leaves out the lanes that it has, and no other one runs.
 */
const MAX_HELD_MS = 30_000
/** How long an idle lane waits for another message, which then needs no claim. */
const IDLE_MS = 1000
/** The same for a lane with a message that will be tried again, which only a claim finds. */
const IDLE_AFTER_FAILURE_MS = 500
/** Limits the messages of a lane that a crash repeats: those in flight and those whose results are not yet written. */
const MAX_UNDECIDED = 32
/** A lane whose next message has to wait longer is released. */
const MAX_PACING_MS = 250
/** Limits the messages that wait in memory; others stay in the database. */
const MAX_WAITING = 64

interface HoldOptions extends DeliverOptions {
  readonly flusher: Flusher
}

/**
 * Sends the messages of a leased lane in order, and then those that are routed to it. The lane is released when it is
 * idle or old, when the breaker opens, the receiver is gone, a request was aborted, too many results wait for the
 * database, or no slot is free.
 */
export function holdLane(
  ctx: Context,
  { flusher, ...options }: HoldOptions,
  { lane, turn }: { readonly lane: ClaimedLane; readonly turn: Turn },
): HeldLane {
  const receiver = receiverOf(ctx, lane)
  const openedMs = performance.now()
  let confirmedMs = openedMs
  const waiting = [...lane.messages]
  const ended = Promise.withResolvers<boolean>()
  let health: LaneHealth = { failures: lane.failures, openUntil: lane.openUntil, failingSince: lane.failingSince }
  const order = orderOf(lane.webhook.doc)
  const queue = createMessageOrder(order)
  let width = FIRST_WIDTH
  let inFlight = 0
  let unwritten = 0
  let slotMs = 0
  let idleSinceMs = openedMs
  const limit = rateLimitOf(lane.webhook.doc)
  let pace = firstPace(lane.openUntil)
  /** False when the database has messages that may be due and are not in memory. */
  let hasAll = lane.hasAll && order !== 'device'
  // Messages that can't start before the lane is released would occupy memory that others need.
  if (limit !== null && waiting.length > messagesWithin(limit, START_WITHIN_MS)) {
    const count = messagesWithin(limit, START_WITHIN_MS)
    dropWaiting((_, place) => place >= count)
  }
  let closing = false
  let releasing = false
  let gone = false
  let hasFailedMessage = false
  let failure: { readonly error: unknown } | null = null

  /** Leaves messages to a later turn. */
  function dropWaiting(isDropped: (message: DueMessage, place: number) => boolean): void {
    const dropped = new Set(waiting.filter(isDropped))
    if (dropped.size === 0) return
    for (const { body } of dropped) turn.subtract(body.length)
    waiting.splice(0, waiting.length, ...waiting.filter((message) => !dropped.has(message)))
    hasAll = false
  }

  function fail(error: unknown): void {
    failure ??= { error }
    closing = true
    proceed()
  }

  function add(attempt: Attempt, { body }: DueMessage, onEnd: EndOfUnrouted | null): void {
    unwritten += 1
    const unrouted = onEnd === null ? null : body
    flusher.add({ lane, outcome: { attempt, keepsPlace: order === 'webhook', unrouted } }).then(
      () => {
        unwritten -= 1
        onEnd?.('written')
        proceed()
      },
      (error: unknown) => {
        onEnd?.('returned')
        fail(error)
      },
    )
  }

  function settle(attempt: Attempt | null, message: DueMessage, onEnd: EndOfUnrouted | null): void {
    if (attempt === null) {
      closing = true
      onEnd?.('returned')
      return
    }
    const isDelivered = attempt.verdict.kind === 'delivered'
    hasFailedMessage ||= !isDelivered
    width = decideWidth(width, isDelivered)
    gone ||= attempt.verdict.kind === 'gone'
    health = decideHealth(health, { succeeded: isDelivered, askedMs: attempt.askedMs }, ctx.clock.now())
    const retryAt = attempt.record.nextAttempt
    queue.end(message, retryAt === null)
    // The whole lane waits for the message.
    if (order === 'webhook' && retryAt !== null) health = { ...health, openUntil: latest(health.openUntil, retryAt) }
    dropWaiting((other) => queue.mustWait(other))
    closing ||= gone || health.openUntil !== null
    // Last, because `onEnd` must be called once, even if the above fails.
    add(attempt, message, onEnd)
  }

  async function send(message: DueMessage, slot: Slot, onEnd: EndOfUnrouted | null = null): Promise<void> {
    const startedMs = performance.now()
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
    slotMs += performance.now() - startedMs
    proceed()
  }

  /** False if the rate limit of the webhook delays the next message. A lane that would wait for long is released instead. */
  function isInTime(): boolean {
    const until = limit === null ? null : pausedUntil(pace, ctx.clock.now())
    if (until === null) return true
    closing ||= until.getTime() - ctx.clock.now().getTime() > MAX_PACING_MS
    return false
  }

  /** @returns False if the lane may start nothing now. */
  function startNext(): boolean {
    const next = queue.indexOfNext(waiting)
    const message = waiting[next]
    if (message === undefined || closing || inFlight >= width || !isInTime()) return false
    if (inFlight + unwritten >= MAX_UNDECIDED) {
      void flusher.flush()
      return false
    }
    const isLate = performance.now() - confirmedMs >= START_WITHIN_MS
    const slot = isLate || !flusher.hasRoom() ? null : turn.start()
    if (slot === null) {
      closing = isLate || inFlight === 0
      return false
    }
    waiting.splice(next, 1)
    queue.start(message)
    if (limit !== null) pace = decideStart(limit, pace, ctx.clock.now()) ?? pace
    void send(message, slot)
    return true
  }

  const isSimple = order === null && limit === null && (lane.webhook.doc['filter'] ?? null) === null
  const isSingle = lane.webhook.doc['single_event_per_message'] === true

  /** A lane that gathers events gathers those that come while it is busy. */
  function mayStartNow(): boolean {
    if (!isSimple || !hasAll || closing || waiting.length > 0 || inFlight >= (isSingle ? width : 1)) return false
    if (inFlight + unwritten >= MAX_UNDECIDED) return false
    return performance.now() - confirmedMs < START_WITHIN_MS && flusher.hasRoom()
  }

  function proceed(): void {
    while (startNext());
    if (inFlight > 0) return
    if (waiting.length === 0) idleSinceMs = performance.now()
    if (!hasAll && waiting.length === 0) closing = true
    if (closing && !releasing) void release()
  }

  /** True when the lane has messages that may be due soon. */
  const isLeft = (): boolean => !hasAll || hasFailedMessage || waiting.length > 0

  async function release(): Promise<void> {
    releasing = true
    try {
      if (failure !== null) throw failure.error
      // This comes before the release of the lane, so that the next claim sees it.
      if (gone) await disableGoneWebhook(ctx, lane)
      const until = limit === null ? null : pausedUntil(pace, ctx.clock.now())
      const openUntil = latest(health.openUntil, until)
      const released = flusher.add({
        lane,
        outcome: { release: { ...health, openUntil, slotSeconds: slotMs / 1000 } },
      })
      // Events that come before the release need a claim.
      if (isLeft() || performance.now() - idleSinceMs < IDLE_AFTER_FAILURE_MS) void flusher.flush()
      await released
      ended.resolve(isLeft())
    } catch (error) {
      ended.reject(error)
    }
  }

  proceed()
  return {
    key: { orgId: lane.orgId, webhookId: lane.webhookId, epoch: lane.epoch },
    ended: ended.promise,
    push(messages) {
      for (const message of messages) {
        hasAll &&= !closing && waiting.length < MAX_WAITING && turn.add(message.body.length)
        if (hasAll) waiting.push(message)
      }
      proceed()
    },
    startNow(message, onEnd) {
      const slot = mayStartNow() ? turn.start() : null
      if (slot === null) return false
      if (!turn.add(message.body.length)) {
        slot.end()
        return false
      }
      void send(message, slot, onEnd)
      return true
    },
    close() {
      hasAll = false
      closing = true
      proceed()
    },
    stateToConfirm(afterMs) {
      const now = performance.now()
      if (!isSimple || closing || !hasAll || hasFailedMessage || health.failures > 0) return null
      if (now - confirmedMs < afterMs || now - openedMs > MAX_HELD_MS) return null
      const { orgId, webhookId, epoch, webhook } = lane
      return { orgId, webhookId, epoch, version: webhook.version }
    },
    confirm(atMs) {
      confirmedMs = atMs
    },
    age() {
      const now = performance.now()
      const idleMs = hasFailedMessage ? IDLE_AFTER_FAILURE_MS : IDLE_MS
      const isIdle = waiting.length === 0 && inFlight === 0 && unwritten === 0 && now - idleSinceMs >= idleMs
      if (!isIdle && now - confirmedMs < START_WITHIN_MS) {
        if (limit !== null) proceed()
        return
      }
      closing = true
      proceed()
    },
  }
}
