import type { Context } from '../../platform/context.ts'
import { inUnflushedTx } from '../../platform/database/db.ts'
import { eachInTurn } from '../../platform/queues/each-in-turn.ts'
import { pause } from '../../platform/time/pause.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import type { LaneKey } from '../lanes/store.ts'
import { deleteParkedMessages, deleteWaitingMessages, endDeletion, listDeletions } from './store.ts'

/** Every deletion wakes the worker; the interval is for those that another process or a former run has left. */
const INTERVAL_MS = 60_000
/** The pause after a portion in relation to its time: requests and deliveries have most of the database meanwhile. */
const PAUSE_FACTOR = 3

/** Deletes the messages of deleted webhooks. What a run leaves, the next one deletes. */
export function startDeletionWorker(ctx: Context): Poller {
  return startPoller({
    name: 'webhook-deletions',
    ctx,
    wake: 'webhook_deletions',
    intervalMs: INTERVAL_MS,
    async work(signal) {
      await deleteMessagesOfDeleted(ctx, { signal, pauseFactor: PAUSE_FACTOR })
      return null
    },
  })
}

export interface DeletionOptions {
  /** Ends the run after the portion that is being deleted. */
  readonly signal?: AbortSignal
  readonly pauseFactor: number
}

/**
 * Deletes the messages of all deleted webhooks, one portion per transaction.
 * @throws Error if those of some webhooks could not be deleted; those of all others are then.
 */
export async function deleteMessagesOfDeleted(ctx: Context, options: DeletionOptions): Promise<void> {
  const run = (webhook: LaneKey): Promise<void> => deleteMessagesOf(ctx, webhook, options)
  await eachInTurn(await listDeletions(ctx.db), run, (error, webhook) =>
    ctx.log.error({ err: error, ...webhook }, 'messages of a deleted webhook could not be deleted; trying again later'),
  )
}

async function deleteMessagesOf(
  ctx: Context,
  webhook: LaneKey,
  { signal, pauseFactor }: DeletionOptions,
): Promise<void> {
  const signals = signal === undefined ? [] : [signal]
  const mayGoOn = (): boolean => signal?.aborted !== true
  for (const deletePortion of [deleteWaitingMessages, deleteParkedMessages]) {
    let from: Date | null = null
    do {
      const startedMs = performance.now()
      const after: Date | null = from
      // A crash of the database brings them back, and the deletion with them.
      ;({ last: from } = await inUnflushedTx(ctx, (tx) => deletePortion(tx, webhook, after)))
      if (from !== null) await pause((performance.now() - startedMs) * pauseFactor, ...signals)
    } while (from !== null && mayGoOn())
  }
  if (mayGoOn()) await endDeletion(ctx.db, webhook)
}
