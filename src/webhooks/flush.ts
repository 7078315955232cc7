import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../platform/context.ts'
import { isPassingError } from '../platform/db.ts'
import { type PartLimits, splitByBytes } from '../platform/split.ts'
import type { WebhookCounters } from './counters.ts'
import { type FlushEntry, bytesOf, writeEntries } from './write-entries.ts'

/** Writes the results of deliveries to the database, many in a transaction. */
export interface Flusher {
  /** Resolves once the entry is committed. @throws Error when the database refuses it or is unreachable at the stop. */
  push(entry: FlushEntry): Promise<void>
  /** False while so many results wait for the database that no further request may start. */
  hasRoom(): boolean
  /** Stops retrying failed writes. */
  stop(): void
}

/** Results within this time share a transaction. */
const GATHER_MS = 20
const ENOUGH_ENTRIES = 32
const transactionLimits = { count: 500, bytes: 4 * 1024 * 1024 }
/** Limits for results that wait or are being written. Requests in flight when a limit is reached still add theirs. */
export const defaultMaxUnwritten: PartLimits = { count: 2000, bytes: 16 * 1024 * 1024 }
const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 3000

interface Waiting {
  readonly entry: FlushEntry
  readonly bytes: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export function createFlusher(ctx: Context, counters: WebhookCounters, maxUnwritten = defaultMaxUnwritten): Flusher {
  const stopping = new AbortController()
  const persist = createPersister(ctx, counters, stopping.signal)
  let waiting: Waiting[] = []
  const unwritten = { count: 0, bytes: 0 }
  let timer: NodeJS.Timeout | null = null
  let flushing = false

  async function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (flushing) return
    flushing = true
    while (waiting.length > 0) {
      const gathered = waiting
      waiting = []
      for (const part of splitByBytes(gathered, ({ bytes }) => bytes, transactionLimits)) {
        await persist(part)
        unwritten.count -= part.length
        for (const { bytes } of part) unwritten.bytes -= bytes
      }
    }
    flushing = false
  }

  return {
    push(entry) {
      return new Promise((resolve, reject) => {
        const bytes = bytesOf(entry)
        waiting.push({ entry, bytes, resolve, reject })
        unwritten.count += 1
        unwritten.bytes += bytes
        if (waiting.length >= ENOUGH_ENTRIES) void flush()
        else timer ??= setTimeout(() => void flush(), GATHER_MS)
      })
    },
    hasRoom: () => unwritten.count < maxUnwritten.count && unwritten.bytes < maxUnwritten.bytes,
    stop: () => stopping.abort(),
  }
}

/**
 * Returns a function that writes a batch, settles every entry and never throws. It retries while the database
 * is unreachable, because a message whose success is lost would be sent again. It gives up an entry that the
 * database refuses, so that no other entry has to wait.
 */
function createPersister(
  ctx: Context,
  counters: WebhookCounters,
  stopping: AbortSignal,
): (batch: readonly Waiting[]) => Promise<void> {
  // If such a lane were released, its message would be sent again at once, again and again; its lease must expire first.
  const refused = new WeakMap<FlushEntry['lane'], unknown>()

  async function write(batch: readonly Waiting[]): Promise<void> {
    const entries = batch.map(({ entry }) => entry)
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      try {
        await writeEntries(ctx, entries)
        return
      } catch (error) {
        if (!isPassingError(error) || stopping.aborted) throw error
        ctx.log.warn({ err: error, entries: entries.length }, 'delivery results not written, trying again')
        await delay(pauseMs, undefined, { signal: stopping }).catch(() => {})
      }
    }
  }

  return async function persist(batch) {
    const accepted = batch.filter(({ entry: { lane }, reject }) => {
      if (refused.has(lane)) reject(refused.get(lane))
      return !refused.has(lane)
    })
    if (accepted.length === 0) return
    try {
      await write(accepted)
      for (const { resolve } of accepted) resolve()
    } catch (error) {
      const [only, ...others] = accepted
      if (isPassingError(error)) for (const { reject } of accepted) reject(error)
      else if (only !== undefined && others.length === 0) {
        const { lane } = only.entry
        counters.add('results_refused')
        ctx.log.error({ err: error, orgId: lane.orgId, webhookId: lane.webhookId }, 'delivery result refused, given up')
        refused.set(lane, error)
        only.reject(error)
      } else {
        const half = Math.ceil(accepted.length / 2)
        await persist(accepted.slice(0, half))
        await persist(accepted.slice(half))
      }
    }
  }
}
