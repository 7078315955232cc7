import { type Selectable, sql } from 'kysely'
import type { SiteScope } from '../../access/scope.ts'
import type { Conditions } from '../../http/lists/filters.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { allHold, column, conditionsOn } from '../../http/lists/store-filters.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, type Tx, countRows } from '../../platform/database/db.ts'
import { documentText } from '../../platform/sealing/document-column.ts'
import type { stackFilters } from '../filters.ts'
import type { MapStackTable } from '../tables.ts'

/** Floors above each other; each map names its stack. */
export type MapStack = Selectable<MapStackTable>

const columns = { name: column(sql`map_stack.name`) }

export function listMapStacks(
  reader: Reader,
  scope: SiteScope,
  { conditions, page }: { readonly conditions: Conditions<typeof stackFilters>; readonly page: Page },
): Promise<Paged<MapStack>> {
  const hits = reader
    .selectFrom('mapStack')
    .selectAll()
    .where('orgId', '=', scope.orgId)
    .where('siteId', '=', scope.siteId)
    .where(allHold(conditionsOn<typeof stackFilters>(columns, conditions)))
  return pageOf<MapStack>(reader, { hits, sizes: sizesOf(sql`octet_length(hit.doc::text)`) }, page)
}

export interface NewMapStack {
  readonly id: string
  readonly name: string
  readonly doc: Record<string, unknown>
  readonly at: Date
}

export function insertMapStack(
  tx: Tx,
  { orgId, siteId }: SiteScope,
  { id, name, doc, at }: NewMapStack,
): Promise<MapStack> {
  return tx
    .insertInto('mapStack')
    .values({ orgId, siteId, id, name, doc: documentText(doc), createdAt: at, modifiedAt: at })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export function countMapStacks(tx: Tx, { orgId, siteId }: SiteScope): Promise<number> {
  return countRows(tx.selectFrom('mapStack').where('orgId', '=', orgId).where('siteId', '=', siteId))
}
