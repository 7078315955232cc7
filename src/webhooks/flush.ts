import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../platform/context.ts'
import { addMs } from '../platform/clock.ts'
import { type Tx, inTx } from '../platform/db.ts'
import type { Attempt } from './deliver-message.ts'
import { deleteMessages, insertDeliveries, rescheduleMessages, subtractFromLanes } from './store-deliver.ts'
import {
  type LaneChange,
  type LaneKey,
  type LaneRelease,
  countPerLane,
  lockLanes,
  releaseLanes,
} from './store-lanes.ts'

export interface FlushEntry {
  readonly lane: LaneKey & { readonly epoch: string }
  /** What became of a message, or that the lane is given back. */
  readonly outcome: { readonly attempt: Attempt } | { readonly release: Omit<LaneRelease, keyof LaneKey> }
}

export interface Flusher {
  /** Resolves once the entry is committed. @throws Error when the database did not take it in time. */
  push(entry: FlushEntry): Promise<void>
}

/** Results that come within this time share a transaction. */
const GATHER_MS = 20
const MAX_ENTRIES = 32
/** A database that restarts is back before these are over. */
const RETRY_PAUSES_MS = [100, 200, 400, 800, 1600, 3200, 6400]

interface Waiting {
  readonly entry: FlushEntry
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export function createFlusher(ctx: Context): Flusher {
  let waiting: Waiting[] = []
  let timer: NodeJS.Timeout | null = null
  let flushing = false

  async function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (flushing) return
    flushing = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        await persist(
          ctx,
          batch.map(({ entry }) => entry),
        )
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    flushing = false
  }

  return {
    push(entry) {
      return new Promise((resolve, reject) => {
        waiting.push({ entry, resolve, reject })
        if (waiting.length >= MAX_ENTRIES) void flush()
        else timer ??= setTimeout(() => void flush(), GATHER_MS)
      })
    },
  }
}

/** Results are worth repeating: a message whose success is lost is sent again. */
async function persist(ctx: Context, entries: readonly FlushEntry[]): Promise<void> {
  for (const pauseMs of RETRY_PAUSES_MS) {
    try {
      await inTx(ctx, (tx) => writeEntries(tx, entries))
      return
    } catch (error) {
      ctx.log.warn({ err: error, entries: entries.length }, 'delivery results not written, trying again')
      await delay(pauseMs)
    }
  }
  await inTx(ctx, (tx) => writeEntries(tx, entries))
}

/**
 * Deletes what needs no further attempt, whoever holds the lane by now: it must not be sent again.
 * Everything else is for the holder alone.
 */
async function writeEntries(tx: Tx, entries: readonly FlushEntry[]): Promise<void> {
  const epochs = await lockLanes(
    tx,
    entries.map(({ lane }) => lane),
  )
  const attempts: { lane: LaneKey; attempt: Attempt; held: boolean }[] = []
  const releases: LaneRelease[] = []
  for (const { lane, outcome } of entries) {
    const held = epochs.get(lane.webhookId) === lane.epoch
    if ('attempt' in outcome) attempts.push({ lane, attempt: outcome.attempt, held })
    else if (held) releases.push({ orgId: lane.orgId, webhookId: lane.webhookId, ...outcome.release })
  }
  const deleted = await writeAttempts(tx, attempts)
  // Each lane is written once: with a second write PostgreSQL looks at its webhook again, and would wait there for
  // whoever has locked the webhook and waits for the lane.
  const messagesOf = new Map(deleted.map(({ webhookId, messages }) => [webhookId, messages]))
  const released = new Set(releases.map(({ webhookId }) => webhookId))
  const kept = deleted.filter(({ webhookId }) => !released.has(webhookId))
  if (kept.length > 0) await subtractFromLanes(tx, kept)
  const leaving = releases.map((lane) => Object.assign(lane, { messages: messagesOf.get(lane.webhookId) ?? 0 }))
  if (leaving.length > 0) await releaseLanes(tx, leaving)
}

/** @returns How many messages of which lanes need no further attempt: they are deleted, but not counted out yet. */
async function writeAttempts(
  tx: Tx,
  attempts: readonly { readonly lane: LaneKey; readonly attempt: Attempt; readonly held: boolean }[],
): Promise<LaneChange[]> {
  if (attempts.length === 0) return []
  const finished = attempts.filter(
    ({ attempt: { verdict } }) => verdict.kind === 'delivered' || verdict.kind === 'give_up',
  )
  const deleted =
    finished.length === 0
      ? []
      : await deleteMessages(
          tx,
          finished.map(({ lane }) => lane.orgId),
          finished.map(({ attempt }) => attempt.record.messageId),
        )
  const later = attempts.flatMap(({ lane, held, attempt: { verdict, record } }) => {
    if (!held || verdict.kind === 'delivered' || verdict.kind === 'give_up') return []
    // What met a receiver that is gone stays, due, for when the webhook is enabled again.
    const dueAt = addMs(record.createdAt, verdict.kind === 'retry' ? verdict.afterMs : 0)
    return [{ orgId: lane.orgId, id: record.messageId, attempt: record.attempt, dueAt }]
  })
  if (later.length > 0) await rescheduleMessages(tx, later)
  await insertDeliveries(
    tx,
    attempts.map(({ attempt }) => attempt.record),
  )
  return countPerLane(deleted)
}
