import type { Context } from '../../platform/context.ts'
import { coalesceReads } from '../../platform/database/coalesce.ts'
import { inTxByKeys } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { gatherAnswers } from '../../platform/queues/gather-answers.ts'
import { lockedPauses } from '../../platform/queues/locked-pauses.ts'
import { byNumber, createSlices } from '../../platform/queues/slices.ts'
import { pause } from '../../platform/time/pause.ts'
import { deviceSpacing } from '../../platform/queues/spacing.ts'
import type { DownloadTicket } from './download-url.ts'
import {
  type DownloadProgress,
  type RecordState,
  type TicketImage,
  listTicketImages,
  startDownloads,
  touchDownloads,
} from './store-downloads.ts'

/**
 * The records of downloads. A phase of an upgrade has thousands of devices download at the same time, so those that
 * begin, and those that end, at about the same time share a transaction. It waits for no other transaction, because its
 * downloads belong to several organizations: a download that another one has locked is tried again.
 */
export interface DownloadRecords {
  /** Resolves with undefined if the image no longer exists. */
  find(ticket: DownloadTicket): Promise<TicketImage | undefined>
  /** Records that a response to the device begins. Resolves with false for a fenced download: nothing may be sent. */
  start(ticket: DownloadTicket): Promise<boolean>
  /** Resolves with false for a fenced download: nothing more may be sent. See touchDownloads(). */
  touch(progress: DownloadProgress): Promise<boolean>
  /** Resolves when nothing is being written. Calls that wait for another transaction fail. */
  stop(): Promise<void>
}

/** Small, so that the first devices of a phase do not wait for the last. */
const batch = { count: 200, bytes: Infinity }

/** The downloads that continue in one turn of the event loop: each writes up to 64 KiB to its socket. */
const CONTINUED_PER_TURN = 32

export function createDownloadRecords(ctx: Context): DownloadRecords {
  const find = coalesceReads<TicketImage>(async (keys) => {
    const tickets = keys.map((key) => JSON.parse(key) as DownloadTicket) // The key is a ticket as JSON; see below.
    const images = await listTicketImages(ctx.keyDb, tickets)
    return new Map(keys.flatMap((key, index) => (images[index] === undefined ? [] : [[key, images[index]]])))
  })
  const now = () => ({ at: ctx.clock.now(), atMs: ctx.serviceClock.nowMs() })
  const starts = gatherAnswers<string, DownloadTicket, RecordState>({
    name: 'starts of downloads',
    log: ctx.log,
    batch,
    spacing: deviceSpacing,
    keyOf: ({ commandId }) => commandId,
    answer: (tickets) => inTxByKeys(ctx, (tx) => startDownloads(tx, tickets, now())),
  })
  const touches = gatherAnswers<string, DownloadProgress, RecordState | 'unshown'>({
    name: 'progress of downloads',
    log: ctx.log,
    batch,
    spacing: deviceSpacing,
    keyOf: ({ commandId }) => commandId,
    answer: (progress) => inTxByKeys(ctx, (tx) => touchDownloads(tx, progress, now())),
  })
  const open = new Set<Promise<boolean>>()
  const stopping = new AbortController()
  const continued = createSlices({ limit: CONTINUED_PER_TURN, spend: byNumber })

  /** @param record Resolves with null while another transaction is changing the download. */
  async function untilRecorded(record: () => Promise<boolean | null>): Promise<boolean> {
    const nextPauseMs = lockedPauses()
    for (;;) {
      const isGoing = await record()
      if (isGoing !== null) return new Promise((resolve) => continued.run(() => resolve(isGoing)))
      await pause(nextPauseMs(), stopping.signal)
      if (stopping.signal.aborted) throw new AppError('unavailable', 'The service is stopping')
    }
  }

  function tracked(result: Promise<boolean>): Promise<boolean> {
    open.add(result)
    const end = (): void => void open.delete(result)
    result.then(end, end)
    return result
  }

  async function touchOnce(progress: { rest: DownloadProgress }): Promise<boolean | null> {
    const state = await touches.add(progress.rest)
    if (state === 'unshown') progress.rest = { ...progress.rest, bytes: 0 }
    return state === 'locked' || state === 'unshown' ? null : state === 'going'
  }

  return {
    find: ({ orgId, commandId, imageId }) => find(JSON.stringify({ orgId, commandId, imageId })),
    start: (ticket) =>
      tracked(
        untilRecorded(async () => {
          const state = await starts.add(ticket)
          return state === 'locked' ? null : state === 'going'
        }),
      ),
    touch: (progress) => {
      const unrecorded = { rest: progress }
      return tracked(untilRecorded(() => touchOnce(unrecorded)))
    },
    async stop() {
      stopping.abort()
      await Promise.allSettled(open)
    },
  }
}
