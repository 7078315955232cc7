import { sql } from 'kysely'
import { sentEventsPart } from '../../events/store-outbox.ts'
import type { Db } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, namesOf, rowsAs } from '../../platform/database/rows.ts'
import { statement } from '../../platform/database/statement.ts'
import { type DeliveryRecord, bodyColumns, bodyOf, deliveryColumns } from './store.ts'
import { type HeldLaneKey, type LaneKey, type LaneRelease, laneKeyColumns } from '../lanes/store.ts'

const doneColumns = columnsOf('webhookMessage', { orgId: 'uuid', id: 'uuid', webhookId: 'uuid' })
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
}

interface BatchValues {
  readonly records: readonly RowOf<typeof deliveryColumns>[]
  readonly bodies: readonly RowOf<typeof bodyColumns>[]
  readonly lanes: readonly LaneKey[]
  readonly done: readonly RowOf<typeof doneColumns>[]
  readonly releases: readonly RowOf<typeof releaseColumns>[]
  readonly unroutedIds: readonly string[]
}

const writeBatch = statement<BatchValues, HeldLaneKey>(
  (param) => sql`
    with record as (
      insert into webhook_delivery (${namesOf(deliveryColumns)})
      select * from ${rowsAs('r', deliveryColumns, param('records'))} returning 1
    ), body as (
      insert into webhook_body (${namesOf(bodyColumns)})
      select * from ${rowsAs('b', bodyColumns, param('bodies'))} returning 1
    ), ${sentEventsPart(param('unroutedIds'))}, lane as materialized (
      select l.org_id, l.webhook_id, l.epoch, l.pending
      from webhook_lane l join ${rowsAs('k', laneKeyColumns, param('lanes'))}
        on l.org_id = k.org_id and l.webhook_id = k.webhook_id
      where (select count(*) from record) >= 0 and (select count(*) from body) >= 0
      order by l.org_id, l.webhook_id for update of l
    ), deleted as (
      delete from webhook_message m
      using ${rowsAs('d', doneColumns, param('done'))} join lane l on l.webhook_id = d.webhook_id
      where m.org_id = d.org_id and m.id = d.id
      returning m.webhook_id
    ), change as materialized (
      select l.org_id, l.webhook_id, l.epoch, l.pending, coalesce(c.messages, 0)::integer as messages, r.webhook_id is not null as is_released,
        r.failures, r.open_until, r.failing_since, r.slot_seconds
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
      where l.org_id = c.org_id and l.webhook_id = c.webhook_id and (c.is_released or c.messages > 0)
    )
    select org_id, webhook_id, epoch from change where is_released and pending > messages
  `,
)

/**
 * Inserts the records, deletes their messages, subtracts these from the counts of their lanes, and releases lanes, in one
 * statement. The lanes are locked last, because the router waits for them, and in the order of their keys.
 *
 * @returns The lanes that have messages left. They are not released yet: when they are due next is a matter of a statement
 *   that sees what was committed before the lock, endLeases().
 */
export async function writeDelivered(
  db: Db,
  { records, releases, unroutedIds }: DeliveredBatch,
): Promise<HeldLaneKey[]> {
  const unrouted = new Set(unroutedIds)
  const routed = records.filter(({ messageId }) => !unrouted.has(messageId))
  const ofLanes = new Map([...routed, ...releases].map(({ orgId, webhookId }) => [webhookId, { orgId, webhookId }]))
  return writeBatch(db, {
    records,
    bodies: records.map(bodyOf),
    lanes: [...ofLanes.values()],
    done: routed.map(({ orgId, messageId: id, webhookId }) => ({ orgId, id, webhookId })),
    releases,
    unroutedIds,
  })
}
