import { sql } from 'kysely'
import type { Tx } from '../platform/db.ts'
import { rowsAs } from '../platform/rows.ts'
import type { LaneHealth } from './decide-lane.ts'
import type { LaneWebhook } from './store-deliver.ts'
import { type LaneKey, countPerLane, laneChangeColumns } from './store-lanes.ts'
import { type NewMessage, messageColumns } from './store.ts'

/** Leases lanes that are idle, so that their new messages can be sent without a claim. */
export interface DirectLease {
  /** The run of the server that sends the messages. */
  readonly runId: string
  readonly until: Date
}

/** A lane that the sender holds after new messages were added to it. */
export interface DirectLane extends LaneKey, LaneHealth {
  readonly epoch: string
  readonly vtime: number
  /** Null if the lane was held before. */
  readonly webhook: LaneWebhook | null
}

export interface EnqueueOptions {
  readonly at: Date
  /** Null if all messages have to be claimed. */
  readonly lease: DirectLease | null
  /** The least time that an idle lane starts with, so that idling earns no priority. */
  readonly vtimeFloor: number
}

/**
 * Inserts messages that are due at once, adds them to the counts of their lanes, and makes the lanes due or leases them.
 * Lanes are locked in the order of their keys, as everywhere. A lane with another message that is due, with an open
 * breaker, or held by another run is not leased.
 *
 * @returns The lanes that the sender holds. All others have to be claimed.
 */
export async function enqueueMessages(
  tx: Tx,
  messages: readonly NewMessage[],
  { at, lease, vtimeFloor }: EnqueueOptions,
): Promise<DirectLane[]> {
  const runId = lease?.runId ?? null
  const { rows } = await sql<Omit<DirectLane, 'webhook'> & LaneWebhook & { isNew: boolean }>`
    with message as (
      insert into webhook_message (org_id, id, webhook_id, topic, body, event_count, due_at, created_at)
      select org_id, id, webhook_id, topic, body, event_count, ${at}::timestamptz, ${at}::timestamptz
      from ${rowsAs('new', messageColumns, messages)}
    ), locked as materialized (
      select l.org_id, l.webhook_id, k.messages,
        ${runId}::uuid is not null and l.lease_until is null and l.open_until is null
          and (l.next_at is null or l.next_at > ${at}) as is_new,
        l.leased_by = ${runId}::uuid and l.lease_until > ${at} as is_held
      from webhook_lane l join ${rowsAs('k', laneChangeColumns, countPerLane(messages))}
        on l.org_id = k.org_id and l.webhook_id = k.webhook_id
      order by l.org_id, l.webhook_id for update of l
    ), changed as (
      update webhook_lane l
      set pending = l.pending + k.messages,
        vtime = case when l.pending > 0 then l.vtime else greatest(l.vtime, ${vtimeFloor}::float8) end,
        next_at = case when k.is_new or k.is_held then l.next_at
          else least(l.next_at, greatest(l.open_until, ${at}::timestamptz)) end,
        lease_until = case when k.is_new then ${lease?.until ?? null}::timestamptz else l.lease_until end,
        leased_by = case when k.is_new then ${runId}::uuid else l.leased_by end,
        epoch = case when k.is_new then l.epoch + 1 else l.epoch end
      from locked k where l.org_id = k.org_id and l.webhook_id = k.webhook_id
      returning l.org_id, l.webhook_id, l.epoch, l.vtime, l.failures, l.open_until, k.is_new, k.is_held)
    select c.org_id, c.webhook_id, c.epoch, c.vtime, c.failures, c.open_until, c.is_new, w.site_id, w.doc, w.secrets
    from changed c left join webhook w on c.is_new and w.org_id = c.org_id and w.id = c.webhook_id
    where c.is_new or c.is_held
  `.execute(tx)
  return rows.map(({ siteId, doc, secrets, isNew, ...lane }) =>
    Object.assign(lane, { webhook: isNew ? { siteId, doc, secrets } : null }),
  )
}
