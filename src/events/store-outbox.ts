import { type RawBuilder, type Selectable, sql } from 'kysely'
import { type Tx, anyOf } from '../platform/database/db.ts'
import { columnsOf, rowsAs, updateRows } from '../platform/database/rows.ts'
import type { Param } from '../platform/database/statement.ts'
import type { WebhookOutboxTable } from './tables.ts'

/** Deletes events that nobody has to receive any more. */
export async function deleteEvents(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.deleteFrom('webhookOutbox').where('id', '=', anyOf(ids)).execute()
}

/** A part of a `with` clause: deletes events that were sent without being routed. */
export function sentEventsPart<V>(ids: Param<V, readonly string[]>): RawBuilder<unknown> {
  return sql`sent as (delete from webhook_outbox where id = any(${ids}::uuid[]))`
}

/** An event that becomes messages. */
export interface RoutingStep {
  readonly orgId: string
  readonly id: string
  /** The progress of its routing when it was read. */
  readonly routedBefore: string | null
  /** Webhooks up to this id have it now; null when all have it. */
  readonly routedTo: string | null
}

const stepColumns = columnsOf(
  'webhookOutbox',
  { orgId: 'uuid', id: 'uuid', routedTo: 'uuid' },
  { routedBefore: 'uuid' },
)

/** Parts of the `with` clause of a statement that routes events. */
export interface RoutingParts {
  /** Declares `step`, all steps, and `locked_step`, those that no other transaction has locked or changed. */
  readonly locked: RawBuilder<unknown>
  /** Deletes the events of the locked steps, or notes how far they are routed. */
  readonly removed: RawBuilder<unknown>
}

/**
 * The events are found by arrays of their ids; see openQueuePool(). Their rows are locked only if another transaction has locked
 * or changed them before (`xmax`): a lock is written to the log, and nobody else takes the rows of events that wait for the
 * router.
 * @param condition Names columns of `locked_step`: only the steps that meet it are removed.
 */
export function routingParts<V>(steps: Param<V, readonly RoutingStep[]>, condition: RawBuilder<unknown>): RoutingParts {
  return {
    locked: sql`step as materialized (
      select * from ${rowsAs('s', stepColumns, steps)}
    ), found as materialized (
      select id, routed_to, xmax = 0 as is_free from webhook_outbox where id = any((select array_agg(id) from step)::uuid[])
    ), freed as materialized (
      select id, routed_to from webhook_outbox
      where id = any((select array_agg(id) from found where not is_free)::uuid[]) for update skip locked
    ), waiting as materialized (
      select id, routed_to from found where is_free union all select id, routed_to from freed
    ), locked_step as materialized (
      select s.* from waiting o join step s on s.id = o.id where o.routed_to is not distinct from s.routed_before
    )`,
    removed: sql`routed as (
      delete from webhook_outbox
      where id = any((select array_agg(id) from locked_step where routed_to is null and ${condition})::uuid[])
    ), begun as (
      update webhook_outbox o set routed_to = (select e.routed_to from locked_step e where e.id = o.id)
      where o.id = any((select array_agg(id) from locked_step where routed_to is not null and ${condition})::uuid[])
    )`,
  }
}

/** An event that the router ignores, without its content. */
export type SetAsideEvent = Omit<Selectable<WebhookOutboxTable>, 'event' | 'auditBytes' | 'routedTo' | 'webhookId'>

/** The columns of a SetAsideEvent. */
export const setAsideEventColumns = [
  'id',
  'orgId',
  'siteId',
  'topic',
  'bytes',
  'createdAt',
  'setAsideAt',
  'setAsideReason',
] as const

const setAsideColumns = columnsOf('webhookOutbox', { id: 'uuid', setAsideAt: 'timestamptz', setAsideReason: 'text' })

/** Removes events from their queues, so that later events are routed. @returns The events that were found. */
export async function setAsideEvents(
  tx: Tx,
  ids: readonly string[],
  { at, reasonOf }: { readonly at: Date; readonly reasonOf: (event: { readonly bytes: number }) => string },
): Promise<SetAsideEvent[]> {
  const found = await tx
    .selectFrom('webhookOutbox')
    .select(setAsideEventColumns)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forUpdate()
    .execute()
  const events = found.map((event) => Object.assign(event, { setAsideAt: at, setAsideReason: reasonOf(event) }))
  await updateRows(tx, setAsideColumns, events, { key: ['id'] })
  return events
}

/** Returns the events to their queues, for all webhooks that have not got them. @returns How many there were. */
export async function requeueSetAsideEvents(tx: Tx): Promise<number> {
  const result = await tx
    .updateTable('webhookOutbox')
    .set({ setAsideAt: null, setAsideReason: null })
    .where('setAsideAt', 'is not', null)
    .executeTakeFirst()
  return Number(result.numUpdatedRows)
}

/** Deletes events that were set aside before `before`, the oldest ones first. @returns The number of deleted events. */
export async function deleteEventsSetAsideBefore(
  tx: Tx,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from webhook_outbox where id = any(array(
      select id from webhook_outbox where set_aside_at < ${before} order by set_aside_at limit ${limit} for update skip locked))
  `.execute(tx)
  return Number(numAffectedRows ?? 0n)
}
