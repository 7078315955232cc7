import { sql } from 'kysely'
import { sentEventsPart } from '../../events/store-outbox.ts'
import type { Db } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, namesOf, rowsAs } from '../../platform/database/rows.ts'
import { statement } from '../../platform/database/statement.ts'
import { type DeliveryRecord, bodyColumns, bodyOf, deliveryColumns } from './store.ts'
import type { HeldLaneKey, LaneRelease } from '../lanes/store.ts'
import { isLaneOf } from '../store-look-ups.ts'
import type { CountPlan } from './plan-counts.ts'

const doneColumns = columnsOf('webhookMessage', { id: 'uuid', webhookId: 'uuid' })
const releaseColumns = columnsOf(
  'webhookLane',
  {
    orgId: 'uuid',
    webhookId: 'uuid',
    epoch: 'bigint',
    failures: 'integer',
    openUntil: 'timestamptz',
    failingSince: 'timestamptz',
  },
  { slotSeconds: 'float8' },
)
const countColumns = columnsOf(
  'webhookLane',
  { orgId: 'uuid', webhookId: 'uuid', epoch: 'bigint' },
  { keeps: 'boolean', spare: 'integer', formerSpare: 'integer', formerEpoch: 'bigint', messages: 'integer' },
)

/** A release by the holder with this epoch. */
export interface HeldRelease extends LaneRelease {
  readonly epoch: string
}

interface DeliveredBatch {
  /** The records of attempts after which the message is not sent again. */
  readonly records: readonly DeliveryRecord[]
  readonly releases: readonly HeldRelease[]
  /** The events that were sent without being routed: their records have the same ids as messages. */
  readonly unroutedIds: readonly string[]
  /** The counts of all lanes that are released or have records with messages. */
  readonly counts: readonly CountPlan[]
}

interface BatchValues {
  readonly records: readonly RowOf<typeof deliveryColumns>[]
  readonly bodies: readonly RowOf<typeof bodyColumns>[]
  readonly counts: readonly RowOf<typeof countColumns>[]
  readonly done: readonly RowOf<typeof doneColumns>[]
  readonly releases: readonly RowOf<typeof releaseColumns>[]
  readonly unroutedIds: readonly string[]
}

interface BatchRow extends HeldLaneKey {
  readonly isLeft: boolean
  /** How many deleted messages the row still counts. */
  readonly kept: number
}

const writeBatch = statement<BatchValues, BatchRow>(
  (param) => sql`
    with record as (
      insert into webhook_delivery (${namesOf(deliveryColumns)})
      select * from ${rowsAs('r', deliveryColumns, param('records'))} returning 1
    ), body as (
      insert into webhook_body (${namesOf(bodyColumns)})
      select * from ${rowsAs('b', bodyColumns, param('bodies'))} returning 1
    ), ${sentEventsPart(param('unroutedIds'))}, count_plan as materialized (
      select * from ${rowsAs('k', countColumns, param('counts'))}
    ), shared as materialized (
      select l.org_id, l.webhook_id, l.epoch, l.pending, k.messages as expected, k.keeps as is_to_keep,
        k.keeps and l.epoch = k.epoch as keeps, k.spare
      from webhook_lane l join count_plan k on ${isLaneOf('l', 'k')}
      where (select count(*) from record) >= 0 and (select count(*) from body) >= 0
      order by k.org_id, k.webhook_id for key share of l
    ), locked as materialized (
      select l.org_id, l.webhook_id, l.epoch, l.pending, k.messages as expected, k.keeps as is_to_keep, false as keeps,
        case when l.counted_epoch <= k.epoch then k.spare else 0 end
          + case when l.counted_epoch <= k.former_epoch then k.former_spare else 0 end as spare
      from webhook_lane l join count_plan k on ${isLaneOf('l', 'k')}
      where k.webhook_id = any((select array_agg(webhook_id) from shared where not keeps)::uuid[])
      order by k.org_id, k.webhook_id for update of l
    ), lane as materialized (
      select * from locked
      union all
      select * from shared where keeps
    ), deleted as (
      delete from webhook_message
      where id = any((select array_agg(d.id) from ${rowsAs('d', doneColumns, param('done'))} join lane l on l.webhook_id = d.webhook_id)::uuid[])
      returning webhook_id
    ), change as materialized (
      select l.*, coalesce(c.messages, 0)::integer as deleted,
        (case when l.keeps then 0 else coalesce(c.messages, 0) + l.spare end)::integer as messages,
        r.webhook_id is not null as is_released, r.failures, r.open_until, r.failing_since, r.slot_seconds
      from lane l
        left join (select webhook_id, count(*) as messages from deleted group by webhook_id) c on c.webhook_id = l.webhook_id
        left join ${rowsAs('r', releaseColumns, param('releases'))} on r.webhook_id = l.webhook_id and r.epoch = l.epoch
    ), changed as (
      update webhook_lane l
      set pending = l.pending - c.messages,
        lease_until = case when not c.is_released or c.pending > c.messages then l.lease_until end,
        leased_by = case when not c.is_released or c.pending > c.messages then l.leased_by end,
        next_at = case when not c.is_released or c.pending > c.messages then l.next_at end,
        failures = case when c.is_released then c.failures else l.failures end,
        open_until = case when c.is_released then c.open_until else l.open_until end,
        failing_since = case when c.is_released then c.failing_since else l.failing_since end,
        vtime = l.vtime + coalesce(c.slot_seconds, 0)
      from change c
      where ${isLaneOf('l', 'c')} and (c.is_released or c.messages > 0)
    )
    select org_id, webhook_id, epoch, is_released and pending > messages as is_left,
      case when keeps then deleted else 0 end as kept
    from change where (is_released and pending > messages) or (is_to_keep and not (keeps and deleted = expected))
  `,
)

export interface WrittenBatch {
  /** The released lanes that have messages left. */
  readonly left: readonly HeldLaneKey[]
  /** How many deleted messages the row of a lane still counts, by webhook, if it is not the number of its plan. */
  readonly kept: ReadonlyMap<string, number>
}

/**
 * Inserts the records, deletes their messages, subtracts these from the counts of their lanes by plan, and releases lanes, in
 * one statement. All lanes are locked before their messages, last, and in the order of their keys: first with `for key share`,
 * which the router does not mind, so that nobody else moves or deletes the messages at the same time, such as the deletion of a
 * webhook. Those whose rows change are locked then, and the router leaves them out. If the lease of another one ends at the same time, its row
 * counts too much; see SpareCount.
 *
 * Lanes that have messages left are not released yet: when they are due next is a matter of a statement that sees what was
 * committed before the lock, endLeases().
 */
export async function writeDelivered(
  db: Db,
  { records, releases, unroutedIds, counts }: DeliveredBatch,
): Promise<WrittenBatch> {
  const unrouted = new Set(unroutedIds)
  const routed = records.filter(({ messageId }) => !unrouted.has(messageId))
  const rows = await writeBatch(db, {
    records,
    bodies: records.map(bodyOf),
    counts,
    done: routed.map(({ messageId: id, webhookId }) => ({ id, webhookId })),
    releases,
    unroutedIds,
  })
  return {
    left: rows.filter(({ isLeft }) => isLeft).map(({ orgId, webhookId, epoch }) => ({ orgId, webhookId, epoch })),
    kept: new Map(rows.map(({ webhookId, kept }) => [webhookId, kept])),
  }
}
