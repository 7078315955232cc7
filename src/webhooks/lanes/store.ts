import { type RawBuilder, sql } from 'kysely'
import type { Db, Reader, Tx } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'
import { statement } from '../../platform/database/statement.ts'
import { isLaneOf, isWebhookOf } from '../store-look-ups.ts'

export interface LaneKey {
  readonly orgId: string
  readonly webhookId: string
}

/** A lane with the epoch of its holder. */
export interface HeldLaneKey extends LaneKey {
  readonly epoch: string
}

export interface LockedLane {
  readonly epoch: string
  /** The epoch that the last new count of its messages has begun. */
  readonly countedEpoch: string
  readonly failures: number
}

export interface LaneChange extends LaneKey {
  readonly messages: number
}

const keyTypes = { orgId: 'uuid', webhookId: 'uuid' } as const
/** Names the changes as rows of `rowsAs`. */
export const laneChangeColumns = columnsOf('webhookLane', keyTypes, { messages: 'integer' })
const heldColumns = columnsOf('webhookLane', { ...keyTypes, epoch: 'bigint' })
const releaseColumns = columnsOf(
  'webhookLane',
  { ...keyTypes, failures: 'integer', openUntil: 'timestamptz', failingSince: 'timestamptz' },
  { slotSeconds: 'float8', messages: 'integer', addedFrom: 'timestamptz' },
)
const resultColumns = columnsOf(
  'webhookLane',
  { ...keyTypes, failingSince: 'timestamptz' },
  { messages: 'integer', addedFrom: 'timestamptz', failures: 'integer' },
)

/** Names the lanes as rows of `rowsAs`. */
export const laneKeyColumns = columnsOf('webhookLane', keyTypes)

/**
 * Locks the lanes until `tx` ends, in the order of their keys, so that two transactions never wait for
 * each other. The result lacks the lanes of deleted webhooks.
 *
 * @returns The lanes by the ids of their webhooks.
 */
export async function lockLanes(tx: Tx, keys: readonly LaneKey[]): Promise<Map<string, LockedLane>> {
  const { rows } = await sql<LockedLane & { webhookId: string }>`
    select l.webhook_id, l.epoch, l.counted_epoch, l.failures
    from webhook_lane l join ${rowsAs('k', laneKeyColumns, keys)} on ${isLaneOf('l', 'k')}
    order by k.org_id, k.webhook_id
    for update of l
  `.execute(tx)
  return new Map(rows.map((row) => [row.webhookId, row]))
}

export function countPerLane(messages: readonly LaneKey[]): LaneChange[] {
  const groups = Map.groupBy(messages, ({ orgId, webhookId }) => `${orgId} ${webhookId}`)
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    return first === undefined ? [] : [{ orgId: first.orgId, webhookId: first.webhookId, messages: group.length }]
  })
}

/**
 * The value of `due_from` of lane `l` when messages are added of which none is due before `from`; null adds none. Whatever adds
 * messages must write it.
 */
export function dueFromWith(from: RawBuilder<unknown>): RawBuilder<Date> {
  return sql`case when l.pending > 0 then least(l.due_from, ${from}) else coalesce(${from}, l.due_from) end`
}

/**
 * The time when lane `l` of webhook `w` has a message to send, while the webhook is enabled and the breaker (`openUntil`)
 * allows it. Null means never, as for a lane that is pulled. No message of the lane may be due before `dueFrom`.
 *
 * The lane must have been locked by an earlier statement: one that has to wait for the lock does not see the messages that
 * were added meanwhile, and the lane would not become due for them.
 */
export function nextAt(
  openUntil: RawBuilder<unknown>,
  dueFrom: RawBuilder<unknown> = sql`l.due_from`,
): RawBuilder<Date | null> {
  return sql`case when w.enabled and not l.pulled then (
    select greatest(min(m.due_at), ${openUntil}) from webhook_message m
    where m.org_id = l.org_id and m.webhook_id = l.webhook_id and m.due_at >= ${dueFrom}
    having min(m.due_at) is not null) end`
}

/** The value of nextAt() for a lane whose first message `m.first_due_at` is known; null if it has none. */
const nextAtOfFirst = sql`case when w.enabled and not l.pulled and m.first_due_at is not null
  then greatest(m.first_due_at, l.open_until) end`

/**
 * Recomputes from its messages how many a lane has and when it is due. The lane must be locked. The new epoch ends what a
 * holder knows about the former count; see SpareCount. Messages are counted in their index alone, which has no organization. A receiver
 * that should fetch fails no longer if none is left, as when all have expired.
 */
export async function recountLanes(tx: Tx, keys: readonly LaneKey[]): Promise<void> {
  await sql`
    update webhook_lane l
    set next_at = ${nextAtOfFirst}, due_from = coalesce(m.first_due_at, l.due_from), pending = m.messages,
      lease_until = null, leased_by = null, epoch = l.epoch + 1, counted_epoch = l.epoch + 1,
      failing_since = case when l.pulled and m.messages = 0 then null else l.failing_since end
    from webhook w, ${rowsAs('k', laneKeyColumns, keys)} cross join lateral (
      select count(*) as messages, min(due_at) as first_due_at from webhook_message
      where webhook_id = k.webhook_id and due_at >= '-infinity') m
    where ${isWebhookOf('w', 'k')} and ${isLaneOf('l', 'k')}
  `.execute(tx)
}

/** Recomputes when a lane is due after a change of its webhook. It takes two look-ups, however many messages wait. */
export async function rescheduleLane(tx: Tx, lane: LaneKey): Promise<void> {
  await lockLanes(tx, [lane])
  await rescheduleLanes(tx, [lane])
}

/** Recomputes when lanes are due. They must be locked by an earlier statement. */
export async function rescheduleLanes(tx: Tx, keys: readonly LaneKey[]): Promise<void> {
  await sql`
    update webhook_lane l set next_at = ${nextAt(sql`l.open_until`)}
    from webhook w, ${rowsAs('k', laneKeyColumns, keys)}
    where ${isWebhookOf('w', 'k')} and ${isLaneOf('l', 'k')}
  `.execute(tx)
}

export interface LaneRelease extends LaneKey {
  readonly failures: number
  readonly openUntil: Date | null
  readonly failingSince: Date | null
  /** The total time of its requests. */
  readonly slotSeconds: number
}

/** The messages that a result has deleted from a lane, less those that it has added. */
export interface LaneResult extends LaneChange {
  /** No added message is due before this; null if none was added. */
  readonly addedFrom: Date | null
}

/** The failures of a lane that its holder knows. */
export type LaneFailures = Pick<LaneRelease, 'failures' | 'failingSince'>

interface ChangedLane extends LaneResult {
  /** Null if they have not changed. */
  readonly failures: number | null
  readonly failingSince: Date | null
}

/** Subtracts deleted messages from the counts of lanes, and writes failures. The lanes must be locked, and each is written once. */
export async function updateHeldLanes(
  tx: Tx,
  results: readonly LaneResult[],
  failures: readonly (LaneFailures & LaneKey)[],
): Promise<void> {
  const changes = new Map<string, ChangedLane>()
  for (const lane of failures) changes.set(lane.webhookId, { ...lane, messages: 0, addedFrom: null })
  for (const result of results)
    changes.set(result.webhookId, { failures: null, failingSince: null, ...changes.get(result.webhookId), ...result })
  await sql`
    update webhook_lane l
    set pending = l.pending - k.messages, due_from = ${dueFromWith(sql`k.added_from`)},
      failures = coalesce(k.failures, l.failures),
      failing_since = case when k.failures is null then l.failing_since else k.failing_since end
    from ${rowsAs('k', resultColumns, [...changes.values()])}
    where ${isLaneOf('l', 'k')}
  `.execute(tx)
}

/**
 * Releases leased lanes and subtracts deleted messages from their counts. The lanes must be locked and still
 * leased by the caller.
 */
export async function releaseLanes(tx: Tx, releases: readonly (LaneRelease & LaneResult)[]): Promise<void> {
  await sql`
    update webhook_lane l
    set lease_until = null, leased_by = null, failures = k.failures, open_until = k.open_until, failing_since = k.failing_since, vtime = l.vtime + k.slot_seconds,
        pending = l.pending - k.messages, due_from = ${dueFromWith(sql`k.added_from`)},
        next_at = case when l.pending > k.messages then ${nextAt(sql`k.open_until`, dueFromWith(sql`k.added_from`))} end
    from webhook w, ${rowsAs('k', releaseColumns, releases)}
    where ${isWebhookOf('w', 'k')} and ${isLaneOf('l', 'k')}
  `.execute(tx)
}

/** Ends the leases of lanes that are still held in these epochs. The lanes must be locked. */
export async function endLeases(tx: Tx, lanes: readonly HeldLaneKey[]): Promise<void> {
  await sql`
    update webhook_lane l
    set lease_until = null, leased_by = null, next_at = ${nextAt(sql`l.open_until`)}
    from webhook w, ${rowsAs('k', heldColumns, lanes)}
    where ${isWebhookOf('w', 'k')} and ${isLaneOf('l', 'k')} and l.epoch = k.epoch
  `.execute(tx)
}

/** A held lane with the state of its webhook that the holder knows. */
export interface KnownLane extends HeldLaneKey {
  readonly version: string
  /** True to extend the lease. */
  readonly extend: boolean
  /** The total time of its requests since the lease began, or was extended. */
  readonly slotSeconds: number
}

const knownColumns = columnsOf(
  'webhookLane',
  { ...keyTypes, epoch: 'bigint' },
  { version: 'text', extend: 'boolean', slotSeconds: 'float8' },
)

interface Confirmation {
  readonly lanes: readonly KnownLane[]
  readonly now: Date
  /** The end of a lease that is extended. */
  readonly leaseUntil: Date
}

export interface ConfirmedLane extends LaneKey {
  /** False also if another transaction had locked the lane. */
  readonly isExtended: boolean
}

const confirm = statement<Confirmation, ConfirmedLane>(
  (param) => sql`
    with unchanged as materialized (
      select k.* from ${rowsAs('k', knownColumns, param('lanes'))}
        join webhook_lane l on ${isLaneOf('l', 'k')} and l.epoch = k.epoch
        join webhook w on ${isWebhookOf('w', 'k')} and w.enabled and w.xmin::text = k.version
      where l.lease_until > ${param('now')} and (l.next_at is null or l.next_at > ${param('now')})
    ), locked as materialized (
      select u.* from unchanged u
        join webhook_lane l on ${isLaneOf('l', 'u')} and l.epoch = u.epoch
      where u.extend and l.lease_until > ${param('now')} for no key update of l skip locked
    ), extended as (
      update webhook_lane l set lease_until = ${param('leaseUntil')}, vtime = l.vtime + k.slot_seconds
      from locked k where ${isLaneOf('l', 'k')}
      returning l.webhook_id
    )
    select org_id, webhook_id, webhook_id in (select webhook_id from extended) as is_extended from unchanged
  `,
)

/**
 * Lists those lanes that are still leased in these epochs, whose webhooks have not changed, and that have no message due
 * that only a claim finds, such as a retry. It extends leases, and waits for no lock.
 */
export function confirmLanes(db: Db, confirmation: Confirmation): Promise<ConfirmedLane[]> {
  return confirm(db, confirmation)
}

/** Leases without a user: those of other runs, or those of this run for lanes that it does not have in the same epoch. */
export type StrayLeases =
  | { readonly exceptRunId: string }
  | { readonly ofRunId: string; readonly except: readonly HeldLaneKey[] }

/**
 * Ends leases without a user, and makes their lanes due; otherwise the leases would have to expire first. No other run
 * is alive at a start. The new epoch rejects any late write of the former holder.
 *
 * @returns The number of such leases.
 */
export async function releaseStrayLeases(tx: Tx, stray: StrayLeases): Promise<number> {
  const isStray =
    'exceptRunId' in stray
      ? sql`l.leased_by is distinct from ${stray.exceptRunId}::uuid`
      : sql`l.leased_by = ${stray.ofRunId}::uuid and not exists (
          select from ${rowsAs('k', heldColumns, stray.except)} where k.webhook_id = l.webhook_id and k.epoch = l.epoch)`
  const { rows: found } = await sql<LaneKey>`
    select l.org_id, l.webhook_id from webhook_lane l
    where l.lease_until is not null and ${isStray}
    order by l.org_id, l.webhook_id for update
  `.execute(tx)
  if (found.length === 0) return 0
  await sql`
    update webhook_lane l
    set lease_until = null, leased_by = null, epoch = l.epoch + 1, next_at = ${nextAt(sql`l.open_until`)}
    from webhook w, ${rowsAs('k', laneKeyColumns, found)}
    where ${isWebhookOf('w', 'k')} and ${isLaneOf('l', 'k')}
  `.execute(tx)
  return found.length
}

export interface DoubtfulLane extends LaneKey {
  /** False if the lane only counts more messages than it has, or is not due because its lease has ended unnoticed, as after a crash. */
  readonly isDefect: boolean
}

/**
 * Lists lanes without a lease whose count is wrong, whose due time is missing or too late, or with a message that is due
 * before `due_from`, so that claims miss it. It locks nothing, so recount them. Messages are counted in their index alone, which
 * has no organization.
 */
export async function listDoubtfulLanes(
  reader: Reader,
  now: Date,
  only: LaneKey | null = null,
): Promise<DoubtfulLane[]> {
  const isMissed = sql`m.first_due_at < l.due_from`
  const isLate = sql`coalesce(l.next_at, 'infinity') > ${nextAtOfFirst}`
  const { rows } = await sql<DoubtfulLane>`
    with counted as materialized (
      select webhook_id, count(*) as messages, min(due_at) as first_due_at from webhook_message
      where due_at >= '-infinity' and (${only?.webhookId ?? null}::uuid is null or webhook_id = ${only?.webhookId ?? null}::uuid)
      group by webhook_id
    )
    select l.org_id, l.webhook_id, l.pending < coalesce(m.messages, 0) or coalesce(${isMissed} or (${isLate} and l.lease_until is null), false) as is_defect
    from webhook_lane l join webhook w on w.org_id = l.org_id and w.id = l.webhook_id
      left join counted m on m.webhook_id = l.webhook_id
    where (l.pending <> 0 or m.messages is not null) and (l.lease_until is null or l.lease_until <= ${now})
      and (${only?.orgId ?? null}::uuid is null or (l.org_id, l.webhook_id) = (${only?.orgId ?? null}::uuid, ${only?.webhookId ?? null}::uuid))
      and (l.pending <> coalesce(m.messages, 0) or ${isMissed} or ${isLate})
    order by l.org_id, l.webhook_id
  `.execute(reader)
  return rows
}
