import type { Selectable } from 'kysely'
import type { Page, Paged } from '../http/lists.ts'
import { smallRows } from '../http/store-bounds.ts'
import { pageOf } from '../http/store-pages.ts'
import { type Db, type Tx, anyOf } from '../platform/db.ts'
import { columnsOf, updateRows } from '../platform/rows.ts'
import type { WebhookOutboxTable } from '../events/tables.ts'

/** An event that the router ignores, without its content. */
export type SetAsideEvent = Omit<Selectable<WebhookOutboxTable>, 'event' | 'routedTo'>

const setAsideColumns = columnsOf('webhookOutbox', { id: 'uuid', setAsideAt: 'timestamptz', setAsideReason: 'text' })

/** Removes events from their queues, so that later events are routed. @returns The events that were found. */
export async function setAsideEvents(
  tx: Tx,
  ids: readonly string[],
  { at, reasonOf }: { readonly at: Date; readonly reasonOf: (event: { readonly bytes: number }) => string },
): Promise<SetAsideEvent[]> {
  const found = await tx
    .selectFrom('webhookOutbox')
    .select(columns)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forUpdate()
    .execute()
  const events = found.map((event) => Object.assign(event, { setAsideAt: at, setAsideReason: reasonOf(event) }))
  await updateRows(tx, setAsideColumns, events, { key: ['id'] })
  return events
}

const columns = ['id', 'orgId', 'siteId', 'topic', 'bytes', 'createdAt', 'setAsideAt', 'setAsideReason'] as const

/** Oldest first. */
export function listSetAsideEvents(db: Db, page: Page): Promise<Paged<SetAsideEvent>> {
  const hits = db.selectFrom('webhookOutbox').select(columns).where('setAsideAt', 'is not', null)
  return pageOf<SetAsideEvent>(db, { hits, order: ['set_aside_at', 'id'], sizes: smallRows }, page)
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
