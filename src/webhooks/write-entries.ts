import { type Transactional, type Tx, inTx } from '../platform/db.ts'
import type { Attempt } from './deliver-message.ts'
import { deleteMessages, insertDeliveries, rescheduleMessages } from './store-deliver.ts'
import { updateAttempts } from './store-order.ts'
import { parkMessages } from './store-parked.ts'
import {
  type LaneChange,
  type LaneKey,
  type LaneRelease,
  countPerLane,
  lockLanes,
  releaseLanes,
  subtractFromLanes,
} from './store-lanes.ts'

export interface FlushEntry {
  readonly lane: LaneKey & { readonly epoch: string }
  /** The result of an attempt, or the release of the lane. */
  readonly outcome: AttemptOutcome | { readonly release: Omit<LaneRelease, keyof LaneKey> }
}

export interface AttemptOutcome {
  readonly attempt: Attempt
  /** True if the message keeps its position although it is retried later, because the lane waits for it. */
  readonly keepsPlace?: boolean
}

/** The memory of an entry in addition to its texts. */
const ENTRY_BYTES = 500

/** Estimates the memory that an entry occupies until it is written. */
export function bytesOf({ outcome }: FlushEntry): number {
  if (!('attempt' in outcome)) return ENTRY_BYTES
  const { reqHeaders, reqPayload, respHeaders, respBody } = outcome.attempt.record.exchange
  return ENTRY_BYTES + reqHeaders.length + reqPayload.length + (respHeaders?.length ?? 0) + (respBody?.length ?? 0)
}

/**
 * Writes results in one transaction. Messages that need no further attempt are deleted even if another process has the
 * lane by now, because they must not be sent again. Only the holder of the lane may do anything else.
 */
export async function writeEntries(ctx: Transactional, entries: readonly FlushEntry[]): Promise<void> {
  await inTx(ctx, async (tx) => {
    const records = entries.flatMap(({ outcome }) => ('attempt' in outcome ? [outcome.attempt.record] : []))
    // This comes before the locks on the lanes, for which the router would wait.
    if (records.length > 0) await insertDeliveries(tx, records)
    const epochs = await lockLanes(
      tx,
      entries.map(({ lane }) => lane),
    )
    const attempts: HeldAttempt[] = []
    const releases: LaneRelease[] = []
    for (const { lane, outcome } of entries) {
      const held = epochs.get(lane.webhookId) === lane.epoch
      if ('attempt' in outcome) attempts.push({ lane, ...outcome, held })
      else if (held) releases.push({ orgId: lane.orgId, webhookId: lane.webhookId, ...outcome.release })
    }
    const deleted = await writeAttempts(tx, attempts)
    // Each lane is written once: at a second write PostgreSQL would check the webhook's row again, and wait for a
    // transaction that has locked the webhook and waits for this lane.
    const messagesOf = new Map(deleted.map(({ webhookId, messages }) => [webhookId, messages]))
    const released = new Set(releases.map(({ webhookId }) => webhookId))
    const kept = deleted.filter(({ webhookId }) => !released.has(webhookId))
    if (kept.length > 0) await subtractFromLanes(tx, kept)
    const leaving = releases.map((lane) => Object.assign(lane, { messages: messagesOf.get(lane.webhookId) ?? 0 }))
    if (leaving.length > 0) await releaseLanes(tx, leaving)
  })
}

interface HeldAttempt extends AttemptOutcome {
  readonly lane: LaneKey
  readonly held: boolean
}

/** @returns The number of deleted messages per lane; they are not yet subtracted from the lanes' counts. */
async function writeAttempts(tx: Tx, attempts: readonly HeldAttempt[]): Promise<LaneChange[]> {
  if (attempts.length === 0) return []
  const finished = attempts.filter(({ attempt: { record } }) => record.final)
  const exhausted = finished.filter(({ attempt: { record } }) => record.status === 'failure' && record.topic !== 'ping')
  if (exhausted.length > 0)
    await parkMessages(
      tx,
      exhausted.map(({ attempt }) => attempt.record),
      'exhausted',
    )
  const deleted =
    finished.length === 0
      ? []
      : await deleteMessages(
          tx,
          finished.map(({ lane }) => lane.orgId),
          finished.map(({ attempt }) => attempt.record.messageId),
        )
  const later = attempts.flatMap(({ lane, held, keepsPlace, attempt: { record } }) => {
    if (!held || record.final) return []
    // A message whose receiver is gone stays due, in case the webhook is enabled again.
    const dueAt = record.nextAttempt ?? record.createdAt
    return [
      { orgId: lane.orgId, id: record.messageId, attempt: record.attempt, dueAt, keepsPlace: keepsPlace ?? false },
    ]
  })
  const [inPlace, moved] = [later.filter(({ keepsPlace }) => keepsPlace), later.filter(({ keepsPlace }) => !keepsPlace)]
  if (inPlace.length > 0) await updateAttempts(tx, inPlace)
  if (moved.length > 0) await rescheduleMessages(tx, moved)
  return countPerLane(deleted)
}
