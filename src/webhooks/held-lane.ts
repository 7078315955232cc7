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

/** A lane that this process has leased. Its messages are in memory and in the database. */
export interface HeldLane {
  readonly epoch: string
  /**
   * Accepts messages that were routed after the lease began. They must be accepted completely, and in order: after a
   * message that it refuses, the lane accepts none, and ends soon. Refused messages stay due in the database.
   */
  push(messages: readonly DueMessage[]): void
  /** Starts no further message, because the webhook has changed or has a message that was not routed. */
  close(): void
  /** Closes the lane if it has been idle or open for long enough. Must be called often. */
  age(): void
  /** Resolves when the lane is released: with true when messages are left that may be due. Rejects if it could not be. */
  readonly ended: Promise<boolean>
}

/** After this time a lane starts no further message, so that a change of the webhook takes effect soon. */
const START_WITHIN_MS = 3000
/** How long an idle lane waits for a message that is routed to it, which then needs no claim. */
const IDLE_MS = 500
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

  function add(attempt: Attempt): void {
    unwritten += 1
    flusher.add({ lane, outcome: { attempt, keepsPlace: order === 'webhook' } }).then(() => {
      unwritten -= 1
      proceed()
    }, fail)
  }

  function settle(attempt: Attempt | null, message: DueMessage): void {
    if (attempt === null) {
      closing = true
      return
    }
    add(attempt)
    const isDelivered = attempt.verdict.kind === 'delivered'
    hasFailedMessage ||= !isDelivered
    width = decideWidth(width, isDelivered)
    gone ||= attempt.verdict.kind === 'gone'
    const ended = { isPing: message.topic === 'ping', succeeded: isDelivered, askedMs: attempt.askedMs }
    health = decideHealth(health, ended, ctx.clock.now())
    const retryAt = attempt.record.nextAttempt
    queue.end(message, retryAt === null)
    // The whole lane waits for the message.
    if (order === 'webhook' && retryAt !== null) health = { ...health, openUntil: latest(health.openUntil, retryAt) }
    dropWaiting((other) => queue.mustWait(other))
    closing ||= gone || health.openUntil !== null
  }

  async function send(message: DueMessage, slot: Slot): Promise<void> {
    const startedMs = performance.now()
    try {
      settle(await deliverMessage(ctx, options, { receiver, message, signal: slot.signal }), message)
    } catch (error) {
      fail(error)
    }
    slot.end()
    turn.subtract(message.body.length)
    inFlight -= 1
    slotMs += performance.now() - startedMs
    proceed()
  }

  /** False if the rate limit of the webhook delays the message. A lane that would wait for long is released instead. */
  function isInTime({ topic }: DueMessage): boolean {
    const until = limit === null || topic === 'ping' ? null : pausedUntil(pace, ctx.clock.now())
    if (until === null) return true
    closing ||= until.getTime() - ctx.clock.now().getTime() > MAX_PACING_MS
    return false
  }

  /** @returns False if the lane may start nothing now. */
  function startNext(): boolean {
    const next = queue.indexOfNext(waiting)
    const message = waiting[next]
    if (message === undefined || closing || inFlight >= width || !isInTime(message)) return false
    if (inFlight + unwritten >= MAX_UNDECIDED) {
      void flusher.flush()
      return false
    }
    const isLate = performance.now() - openedMs >= START_WITHIN_MS
    const slot = isLate || !flusher.hasRoom() ? null : turn.start()
    if (slot === null) {
      closing = isLate || inFlight === 0
      return false
    }
    waiting.splice(next, 1)
    queue.start(message)
    if (limit !== null && message.topic !== 'ping') pace = decideStart(limit, pace, ctx.clock.now()) ?? pace
    inFlight += 1
    void send(message, slot)
    return true
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
      if (isLeft()) void flusher.flush()
      await released
      ended.resolve(isLeft())
    } catch (error) {
      ended.reject(error)
    }
  }

  proceed()
  return {
    epoch: lane.epoch,
    ended: ended.promise,
    push(messages) {
      for (const message of messages) {
        hasAll &&= !closing && waiting.length < MAX_WAITING && turn.add(message.body.length)
        if (hasAll) waiting.push(message)
      }
      proceed()
    },
    close() {
      hasAll = false
      closing = true
      proceed()
    },
    age() {
      const now = performance.now()
      const isIdle = waiting.length === 0 && inFlight === 0 && unwritten === 0 && now - idleSinceMs >= IDLE_MS
      if (!isIdle && now - openedMs < START_WITHIN_MS) {
        if (limit !== null) proceed()
        return
      }
      closing = true
      proceed()
    },
  }
}
