import { type Selectable, sql } from 'kysely'
import { type Tx, anyOf } from '../platform/db.ts'
import { columnsOf, rowsAs, updateRows } from '../platform/rows.ts'
import type { WebhookOutboxTable } from './tables.ts'

/** Deletes events from the outbox. @returns The JSON text of each by its id. */
export async function consumeEvents(tx: Tx, ids: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; json: string }>`
    delete from webhook_outbox where id = any(${ids}::uuid[]) returning id, event::text as json
  `.execute(tx)
  return new Map(rows.map(({ id, json }) => [id, json]))
}

/** Like consumeEvents, but without reading the events. */
export async function deleteEvents(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.deleteFrom('webhookOutbox').where('id', '=', anyOf(ids)).execute()
}

export interface RoutingProgress {
  readonly id: string
  readonly routedTo: string
}

const progressColumns = columnsOf('webhookOutbox', { id: 'uuid', routedTo: 'uuid' })

/** Records the progress of events that stay in the outbox. @returns The JSON text of each by its id. */
export async function updateProgress(tx: Tx, progress: readonly RoutingProgress[]): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; json: string }>`
    update webhook_outbox o set routed_to = k.routed_to
    from ${rowsAs('k', progressColumns, progress)}
    where o.id = k.id
    returning o.id, o.event::text as json
  `.execute(tx)
  return new Map(rows.map(({ id, json }) => [id, json]))
}

/** An event that the router ignores, without its content. */
export type SetAsideEvent = Omit<Selectable<WebhookOutboxTable>, 'event' | 'routedTo'>

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

/** @returns How many were deleted. */
export async function deleteEventsSetAsideBefore(tx: Tx, before: Date): Promise<number> {
  const result = await tx.deleteFrom('webhookOutbox').where('setAsideAt', '<', before).executeTakeFirst()
  return Number(result.numDeletedRows)
}
