import type { Context } from '../platform/context.ts'
import { type LaneHealth, decideHealth } from './decide-lane.ts'
import { type DeliverOptions, deliverMessage, receiverOf } from './deliver-message.ts'
import { disableGoneWebhook } from './disable-webhook.ts'
import type { Flusher } from './flush.ts'
import type { ClaimedLane, DueMessage } from './store-deliver.ts'
import type { FlushEntry } from './write-entries.ts'

/** A claim starts no message later than this, so that a change of the webhook takes effect soon. */
const START_WITHIN_MS = 3000

export interface LaneRun {
  readonly lane: ClaimedLane
  /** Requests at a time. */
  readonly width: number
  readonly signal: AbortSignal
}

export interface LaneRunResult {
  readonly durationsMs: readonly number[]
  readonly failed: boolean
}

/**
 * Sends a claimed lane's messages in order, and gives the lane back. Stops early where the breaker
 * opens, the receiver is gone, too many results wait for the database, `signal` aborts or the time is
 * over: what is left stays due.
 */
export async function runLane(
  ctx: Context,
  { flusher, ...options }: DeliverOptions & { readonly flusher: Flusher },
  { lane, width, signal }: LaneRun,
): Promise<LaneRunResult> {
  const receiver = receiverOf(ctx, lane)
  const startUntilMs = performance.now() + START_WITHIN_MS
  const messages = lane.messages.values()
  const durationsMs: number[] = []
  const written: Promise<void>[] = []
  let health: LaneHealth = { failures: lane.failures, openUntil: lane.openUntil }
  let failed = false
  let tripped = false
  let gone = false

  function write(outcome: FlushEntry['outcome']): void {
    const done = flusher.push({ lane, outcome })
    // Awaited at the end; a failure before that must not count as unhandled.
    done.catch(() => {})
    written.push(done)
  }

  async function send(message: DueMessage): Promise<void> {
    const attempt = await deliverMessage(ctx, options, { receiver, message, signal })
    if (attempt === null) return
    durationsMs.push(attempt.durationMs)
    write({ attempt })
    gone ||= attempt.verdict.kind === 'gone'
    if (message.topic === 'ping') return
    const succeeded = attempt.verdict.kind === 'delivered'
    failed ||= !succeeded
    health = decideHealth(health, succeeded, ctx.clock.now())
    tripped = health.openUntil !== null
  }

  async function line(): Promise<void> {
    for (const message of messages) {
      await send(message)
      if (tripped || gone || signal.aborted || !flusher.hasRoom() || performance.now() >= startUntilMs) return
    }
  }

  await Promise.all(Array.from({ length: width }, line))
  // Before the lane is given back: whoever claims it next has to see it.
  if (gone) await disableGoneWebhook(ctx, lane)
  const slotSeconds = durationsMs.reduce((sum, ms) => sum + ms, 0) / 1000
  write({ release: { ...health, slotSeconds } })
  await Promise.all(written)
  return { durationsMs, failed }
}
