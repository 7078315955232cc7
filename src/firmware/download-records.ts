import type { Context } from '../platform/context.ts'
import { coalesceReads } from '../platform/coalesce.ts'
import { inTxByKeys } from '../platform/db.ts'
import { gatherAnswers } from '../platform/gather-answers.ts'
import type { DownloadTicket } from './download-url.ts'
import {
  type DownloadProgress,
  type TicketImage,
  listTicketImages,
  startDownloads,
  touchDownloads,
} from './store-downloads.ts'

/**
 * The records of downloads. A phase of an upgrade has thousands of devices download at the same time, so those that
 * begin, and those that end, at about the same time share a transaction.
 */
export interface DownloadRecords {
  /** Resolves with undefined if the image no longer exists. */
  find(ticket: DownloadTicket): Promise<TicketImage | undefined>
  /** Records that a response to the device begins. Resolves with false for a fenced download: nothing may be sent. */
  start(ticket: DownloadTicket): Promise<boolean>
  /** Resolves with false for a fenced download: nothing more may be sent. See touchDownloads(). */
  touch(progress: DownloadProgress): Promise<boolean>
  /** Resolves when nothing is being written. */
  idle(): Promise<void>
}

/** Small, so that the first devices of a phase do not wait for the last. */
const batch = { count: 200, bytes: Infinity }

export function createDownloadRecords(ctx: Context): DownloadRecords {
  const find = coalesceReads<TicketImage>(async (keys) => {
    const tickets = keys.map((key) => JSON.parse(key) as DownloadTicket) // The key is a ticket as JSON; see below.
    const images = await listTicketImages(ctx.keyDb, tickets)
    return new Map(keys.flatMap((key, index) => (images[index] === undefined ? [] : [[key, images[index]]])))
  })
  const now = () => ({ at: ctx.clock.now(), atMs: ctx.serviceClock.nowMs() })
  const starts = gatherAnswers<string, DownloadTicket, boolean>({
    name: 'starts of downloads',
    log: ctx.log,
    batch,
    keyOf: ({ commandId }) => commandId,
    answer: (tickets) =>
      answersOf(
        tickets,
        inTxByKeys(ctx, (tx) => startDownloads(tx, tickets, now())),
      ),
  })
  const touches = gatherAnswers<string, DownloadProgress, boolean>({
    name: 'progress of downloads',
    log: ctx.log,
    batch,
    keyOf: ({ commandId }) => commandId,
    answer: (progress) =>
      answersOf(
        progress,
        inTxByKeys(ctx, (tx) => touchDownloads(tx, progress, now())),
      ),
  })
  return {
    find: ({ orgId, commandId, imageId }) => find(JSON.stringify({ orgId, commandId, imageId })),
    start: (ticket) => starts.add(ticket),
    touch: (progress) => touches.add(progress),
    idle: async () => void (await Promise.all([starts.idle(), touches.idle()])),
  }
}

/** @param going The commands whose downloads are not fenced. */
async function answersOf(
  items: readonly { readonly commandId: string }[],
  going: Promise<ReadonlySet<string>>,
): Promise<Map<string, boolean>> {
  const ids = await going
  return new Map(items.map(({ commandId }) => [commandId, ids.has(commandId)]))
}
