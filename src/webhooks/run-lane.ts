import type { Context } from '../platform/context.ts'
import type { Slot, Turn } from './admission.ts'
import { type LaneHealth, decideFollowers, decideHealth } from './decide-lane.ts'
import { type DeliverOptions, deliverMessage, receiverOf } from './deliver-message.ts'
import { disableGoneWebhook } from './disable-webhook.ts'
import type { Flusher } from './flush.ts'
import type { ClaimedLane, DueMessage } from './store-deliver.ts'
import type { FlushEntry } from './write-entries.ts'

/** After this time a claim starts no further message, so that a change of the webhook takes effect soon. */
const START_WITHIN_MS = 3000

/**
 * Sends a claimed lane's messages in order and releases the lane. Stops early when the breaker opens, the
 * receiver is gone, a request was cut, too many results wait for the database, no slot is free or the time
 * is over; the remaining messages stay due.
 */
export async function runLane(
  ctx: Context,
  { flusher, ...options }: DeliverOptions & { readonly flusher: Flusher },
  { lane, turn }: { readonly lane: ClaimedLane; readonly turn: Turn },
): Promise<void> {
  const receiver = receiverOf(ctx, lane)
  const startUntilMs = performance.now() + START_WITHIN_MS
  const written: Promise<void>[] = []
  let health: LaneHealth = { failures: lane.failures, openUntil: lane.openUntil }
  let next = 0
  let inFlight = 0
  let slotMs = 0
  let ended = false
  let gone = false

  function write(outcome: FlushEntry['outcome']): void {
    written.push(flusher.add({ lane, outcome }))
  }

  /** @returns True when the message was delivered. */
  async function send(message: DueMessage, { signal }: Slot): Promise<boolean> {
    const attempt = await deliverMessage(ctx, options, { receiver, message, signal })
    if (attempt === null) {
      ended = true
      return false
    }
    write({ attempt })
    const isDelivered = attempt.verdict.kind === 'delivered'
    gone ||= attempt.verdict.kind === 'gone'
    ended ||= gone
    if (message.topic === 'ping') return isDelivered
    health = decideHealth(health, isDelivered, ctx.clock.now())
    ended ||= health.openUntil !== null
    return isDelivered
  }

  /** Sends the next message if it may be sent now, then the messages that follow it. */
  async function proceed(): Promise<void> {
    const message = lane.messages[next]
    if (message === undefined || ended || !flusher.hasRoom() || performance.now() >= startUntilMs) return
    const slot = turn.start()
    if (slot === null) return
    const startedMs = performance.now()
    next += 1
    inFlight += 1
    const isDelivered = await send(message, slot).finally(() => {
      slot.end()
      inFlight -= 1
      slotMs += performance.now() - startedMs
    })
    await Promise.all(Array.from({ length: decideFollowers(isDelivered, inFlight) }, proceed))
  }

  await proceed()
  // This comes before the release of the lane, so that the next claim sees it.
  if (gone) await disableGoneWebhook(ctx, lane)
  write({ release: { ...health, slotSeconds: slotMs / 1000 } })
  await Promise.all(written)
}
