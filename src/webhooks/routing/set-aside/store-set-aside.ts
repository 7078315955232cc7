import { type SetAsideEvent, setAsideEventColumns } from '../../../events/store-outbox.ts'
import type { Page, Paged } from '../../../http/lists/lists.ts'
import { smallRows } from '../../../http/lists/store-bounds.ts'
import { pageOf } from '../../../http/lists/store-pages.ts'
import type { Db } from '../../../platform/database/db.ts'

/** Lists the events that the router ignores, oldest first. */
export function listSetAsideEvents(db: Db, page: Page): Promise<Paged<SetAsideEvent>> {
  const hits = db.selectFrom('webhookOutbox').select(setAsideEventColumns).where('setAsideAt', 'is not', null)
  return pageOf<SetAsideEvent>(db, { hits, order: ['set_aside_at', 'id'], sizes: smallRows }, page)
}
