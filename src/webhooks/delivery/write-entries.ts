import { type Db, type Transactional, type Tx, inTx, onQueues } from '../../platform/database/db.ts'
import { isPassingError, isUniqueViolation } from '../../platform/database/database-errors.ts'
import { deleteEvents } from '../../events/store-outbox.ts'
import type { Logger } from '../../platform/log.ts'
import type { Attempt } from './deliver-message.ts'
import type { DueMessage } from './store-due.ts'
import { type DeliveryRecord, deleteMessages, insertDeliveries, rescheduleMessages } from './store.ts'
import { type CountPlan, type CountedResult, keepCounts, laneResults, planCounts, returnSpare } from './plan-counts.ts'
import { type HeldRelease, type WrittenBatch, writeDelivered } from './store-delivered-batch.ts'
import { insertUnrouted, shareWebhooks } from './store-unrouted.ts'
import type { ScheduledMessage } from '../store.ts'
import { updateAttempts } from '../lanes/store-order.ts'
import { parkMessages } from '../replays/store-parked.ts'
import type { SpareCount } from '../lanes/spare-count.ts'
import {
  type HeldLaneKey,
  type LaneChange,
  type LaneFailures,
  type LaneKey,
  type LaneRelease,
  countPerLane,
  endLeases,
  lockLanes,
  releaseLanes,
  rescheduleLanes,
  updateHeldLanes,
} from '../lanes/store.ts'

export interface FlushEntry {
  readonly lane: HeldLaneKey
  /** The count of the lane, which all its entries share. */
  readonly spare: SpareCount
  /** The result of an attempt, a message that was not started, the release of the lane, or only the correction of its count. */
  readonly outcome:
    | AttemptOutcome
    | { readonly unsent: UnsentMessage }
    | { readonly release: Omit<LaneRelease, keyof LaneKey> }
    | { readonly corrects: true }
}

/** A message that was accepted before it was routed and has not been started. It has the id of an event in the outbox. */
export interface UnsentMessage {
  readonly message: DueMessage
  readonly acceptedAt: Date
  /** The version of the webhook that accepted it. */
  readonly version: string
  /** Called with false if the webhook has changed, so that the event has to be routed. */
  readonly settle: (isKept: boolean) => void
}

export interface AttemptOutcome {
  readonly attempt: Attempt
  /** The failures of the lane after the attempt. */
  readonly failures: LaneFailures
  /** True if the message keeps its position although it is retried later, because the lane waits for it. */
  readonly keepsPlace?: boolean
  /** The body of a message that is not in the database but has the id of an event in the outbox; null for any other. */
  readonly unrouted: Buffer | null
}

/** The memory of an entry in addition to its texts. */
const ENTRY_BYTES = 500

/** Estimates the memory that an entry occupies until it is written. */
export function bytesOf({ outcome }: FlushEntry): number {
  if ('unsent' in outcome) return ENTRY_BYTES + outcome.unsent.message.body.length
  if (!('attempt' in outcome)) return ENTRY_BYTES
  const { reqHeaders, reqPayload, respHeaders, respBody } = outcome.attempt.record.exchange
  const texts = [reqHeaders, reqPayload, respHeaders, respBody]
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), ENTRY_BYTES + (outcome.unrouted?.length ?? 0))
}

/** The context that writes of results need. */
export interface ResultWriter extends Transactional {
  readonly queueDb: Db
  readonly log: Logger
}

/**
 * Writes results in one transaction. Messages that need no further attempt are deleted even if another process has the
 * lane by now, because they must not be sent again. Only the holder of the lane may do anything else.
 * @returns False if leases that should have ended are left.
 */
export async function writeEntries(ctx: ResultWriter, entries: readonly FlushEntry[]): Promise<boolean> {
  const records = entries.flatMap(({ outcome }) => ('attempt' in outcome ? [outcome.attempt.record] : []))
  const releases = entries.flatMap(({ lane: { orgId, webhookId, epoch }, outcome }) =>
    'release' in outcome ? [{ ...outcome.release, orgId, webhookId, epoch }] : [],
  )
  const unsent = entries.flatMap(({ outcome }) => ('unsent' in outcome ? [outcome.unsent] : []))
  const counts = planCounts(entries.filter(concernsLane).map(countedResultOf))
  const areDelivered = unsent.length === 0 && records.every(({ status }) => status === 'success')
  const written: Promise<MixedResult> = areDelivered
    ? writeDelivered(ctx.queueDb, { records, releases, unroutedIds: unroutedIdsOf(entries), counts })
    : inTx(onQueues(ctx), (tx) => writeMixed(tx, { entries, records, releases, counts }))
  const { left, kept, keptIds } = await written.catch((error: unknown): MixedResult => {
    // After other errors it may have been written. Then a row that counts too much is better than one that counts too little.
    if (!isPassingError(error)) returnSpare(counts)
    // Every attempt has a new id, so the batch was written before, and the connection broke before we learned of it.
    if (!isUniqueViolation(error) || error.table?.startsWith('webhook_delivery') !== true) throw error
    return { left: releases, kept: new Map(counts.map(({ webhookId }) => [webhookId, 0])) }
  })
  keepCounts(counts, kept)
  for (const { message, settle } of unsent) settle(keptIds?.has(message.id) === true)
  if (left.length === 0) return true
  try {
    await inTx(onQueues(ctx), async (tx) => {
      await lockLanes(tx, left)
      await endLeases(tx, left)
    })
    return true
  } catch (error) {
    // The results are written, and must not be written again.
    ctx.log.warn({ err: error, lanes: left.length }, 'lanes could not be released; trying again')
    return false
  }
}

/** True unless the entry is about an event that was accepted before it was routed. */
function concernsLane({ outcome }: FlushEntry): boolean {
  return 'attempt' in outcome ? !isUnrouted(outcome) : !('unsent' in outcome)
}

function countedResultOf({ lane, spare, outcome }: FlushEntry): CountedResult {
  const isAttempt = 'attempt' in outcome
  return { lane, spare, correctsRow: !isAttempt, deletes: isAttempt && outcome.attempt.record.final === true }
}

function isUnrouted(outcome: AttemptOutcome): outcome is AttemptOutcome & { readonly unrouted: Buffer } {
  return outcome.unrouted !== null
}

function unroutedIdsOf(entries: readonly FlushEntry[]): string[] {
  return entries.flatMap(({ outcome }) =>
    'attempt' in outcome && isUnrouted(outcome) ? [outcome.attempt.record.messageId] : [],
  )
}

interface MixedBatch {
  readonly entries: readonly FlushEntry[]
  readonly records: readonly DeliveryRecord[]
  readonly releases: readonly HeldRelease[]
  readonly counts: readonly CountPlan[]
}

interface MixedResult extends WrittenBatch {
  /** The unsent messages that are in the database. */
  readonly keptIds?: ReadonlySet<string>
}

/** Writes results of which some are failures, and unsent messages. No released lane is left. */
async function writeMixed(tx: Tx, { entries, records, releases, counts }: MixedBatch): Promise<MixedResult> {
  // This comes before the locks on the lanes, for which the router would wait.
  await insertDeliveries(tx, records)
  const unroutedIds = unroutedIdsOf(entries)
  if (unroutedIds.length > 0) await deleteEvents(tx, unroutedIds)
  const failedOnes = attemptedFirst(entries)
  const unsent = unsentOf(entries)
  // Messages are parked only while their webhooks are locked, which a deletion locks before their lanes.
  const needed = [...failedOnes, ...unsent.map(({ scheduled }) => scheduled), ...records.filter(isExhausted)]
  const known = needed.length > 0 ? await shareWebhooks(tx, needed) : null
  const lanes = await lockLanes(
    tx,
    entries.map(({ lane }) => lane),
  )
  const isHeld = ({ webhookId, epoch }: LaneKey & { readonly epoch: string }): boolean =>
    lanes.get(webhookId)?.epoch === epoch
  const isRecounted = ({ webhookId, epoch }: HeldLaneKey): boolean =>
    BigInt(lanes.get(webhookId)?.countedEpoch ?? 0) > BigInt(epoch)
  const attempts = entries.flatMap(({ lane, outcome }) =>
    'attempt' in outcome ? [{ lane, ...outcome, held: isHeld(lane) }] : [],
  )
  const kept = unsent
    .filter(({ scheduled: { webhookId }, version }) => known?.get(webhookId) === version && lanes.has(webhookId))
    .map(({ scheduled }) => scheduled)
  const keptIds = new Set(kept.map(({ id }) => id))
  if (kept.length > 0) await deleteEvents(tx, [...keptIds])
  const addable = failedOnes.filter(({ webhookId }) => known?.has(webhookId) === true && lanes.has(webhookId))
  const added = kept.length + addable.length > 0 ? await insertUnrouted(tx, [...addable, ...kept]) : []
  const deleted = subtractAdded(await writeAttempts(tx, attempts), countPerLane(added))
  // Each lane is written once: at a second write PostgreSQL would check the webhook's row again, and wait for a
  // transaction that has locked the webhook and waits for this lane.
  const { results, kept: keptCounts } = laneResults(counts, {
    deleted,
    addedFrom: firstDueOf(added),
    isHeld,
    isRecounted,
  })
  const resultOf = new Map(results.map((result) => [result.webhookId, result]))
  const leaving = releases
    .filter(isHeld)
    .map((lane) => Object.assign(lane, resultOf.get(lane.webhookId) ?? { messages: 0, addedFrom: null }))
  const released = new Set(leaving.map(({ webhookId }) => webhookId))
  // They can't wait for the release: another request may keep the lane for long, and its health would say nothing of them.
  const failures = [...failuresOf(entries).values()].filter(
    (known) =>
      isHeld(known) && !released.has(known.webhookId) && lanes.get(known.webhookId)?.failures !== known.failures,
  )
  const unreleased = results.filter(({ webhookId }) => !released.has(webhookId))
  if (unreleased.length + failures.length > 0) await updateHeldLanes(tx, unreleased, failures)
  if (leaving.length > 0) await releaseLanes(tx, leaving)
  const unscheduled = added.filter(
    ({ webhookId }) => !entries.some(({ lane }) => lane.webhookId === webhookId && isHeld(lane)),
  )
  if (unscheduled.length > 0) await rescheduleLanes(tx, unscheduled)
  return { left: [], kept: keptCounts, keptIds }
}

/** Returns the messages that were not started, due when they were accepted: those behind them are due later. */
function unsentOf(
  entries: readonly FlushEntry[],
): { readonly scheduled: ScheduledMessage; readonly version: string }[] {
  return entries.flatMap(({ lane: { orgId, webhookId }, outcome }) => {
    if (!('unsent' in outcome)) return []
    const { message, acceptedAt: at, version } = outcome.unsent
    const { id, topic, body } = message
    const first = { eventCount: 1, orderKey: null, dueAt: at, createdAt: at, payloadId: null, payloadAt: null }
    return [{ scheduled: { orgId, webhookId, id, topic, body, ...first }, version }]
  })
}

/** Returns the messages that have to be tried again, or are exhausted, and were not routed before their first attempt. */
function attemptedFirst(entries: readonly FlushEntry[]): ScheduledMessage[] {
  return entries.flatMap(({ outcome }) => {
    if (!('attempt' in outcome) || !isUnrouted(outcome)) return []
    const { orgId, webhookId, messageId: id, topic, status, createdAt: at } = outcome.attempt.record
    if (status === 'success') return []
    const message = { orgId, id, webhookId, topic, body: outcome.unrouted, eventCount: 1, orderKey: null }
    return [{ ...message, dueAt: at, createdAt: at, payloadId: null, payloadAt: null }]
  })
}

/** Subtracts messages that were added from the numbers of those that were deleted. */
function subtractAdded(deleted: readonly LaneChange[], added: readonly LaneChange[]): LaneChange[] {
  const rest = new Map(added.map((lane) => [lane.webhookId, lane]))
  const both = deleted.map((lane) => {
    const more = rest.get(lane.webhookId)?.messages ?? 0
    rest.delete(lane.webhookId)
    return Object.assign(lane, { messages: lane.messages - more })
  })
  const others = [...rest.values()].map((lane) => Object.assign(lane, { messages: -lane.messages }))
  return [...both, ...others]
}

/** Returns when the first of the messages of each webhook is due. */
function firstDueOf(messages: readonly ScheduledMessage[]): Map<string, Date> {
  const first = new Map<string, Date>()
  for (const { webhookId, dueAt } of messages) {
    const known = first.get(webhookId)
    if (known === undefined || dueAt < known) first.set(webhookId, dueAt)
  }
  return first
}

/** Returns the failures of the lanes after their last attempts. */
function failuresOf(entries: readonly FlushEntry[]): Map<string, LaneFailures & HeldLaneKey> {
  return new Map(
    entries.flatMap(({ lane: { orgId, webhookId, epoch }, outcome }) =>
      'attempt' in outcome ? [[webhookId, { ...outcome.failures, orgId, webhookId, epoch }]] : [],
    ),
  )
}

/** True if the message is parked, because no attempt follows the failed one. */
function isExhausted({ final, status, topic }: DeliveryRecord): boolean {
  return final === true && status === 'failure' && topic !== 'ping'
}

interface HeldAttempt extends AttemptOutcome {
  readonly lane: LaneKey
  readonly held: boolean
}

/** @returns The number of deleted messages per lane; they are not yet subtracted from the lanes' counts. */
async function writeAttempts(tx: Tx, attempts: readonly HeldAttempt[]): Promise<LaneChange[]> {
  if (attempts.length === 0) return []
  const finished = attempts.filter(({ attempt: { record } }) => record.final)
  const exhausted = finished.filter(({ attempt: { record } }) => isExhausted(record))
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
          finished.map(({ attempt }) => attempt.record.messageId),
        )
  const later = attempts.flatMap(({ held, keepsPlace, attempt: { record, pauses } }) => {
    if (!held || record.final) return []
    // A message whose receiver is gone stays due, in case the webhook is enabled again.
    const dueAt = record.nextAttempt ?? record.createdAt
    const { messageId: id, attempt, exchange } = record
    const payload = { payloadId: exchange.payloadId ?? record.id, payloadAt: exchange.payloadAt ?? record.createdAt }
    return [{ id, attempt, pauses, dueAt, ...payload, keepsPlace: keepsPlace ?? false }]
  })
  const [inPlace, moved] = [later.filter(({ keepsPlace }) => keepsPlace), later.filter(({ keepsPlace }) => !keepsPlace)]
  if (inPlace.length > 0) await updateAttempts(tx, inPlace)
  if (moved.length > 0) await rescheduleMessages(tx, moved)
  return countPerLane(deleted)
}
