import type { Selectable } from 'kysely'
import { mergeDocument, omitFields } from '../http/documents.ts'
import type { SiteMapTable } from './tables.ts'

/** A plan of a floor, or a cut-out of a map of streets. */
export type SiteMap = Selectable<SiteMapTable>

/** In wire shape; see wire.ts for its fields. */
export type MapDocument = Readonly<Record<string, unknown>>

/** What the service itself says of a map; a client that sends it back changes nothing. */
const OWN_FIELDS = [
  'id',
  'org_id',
  'site_id',
  'created_time',
  'modified_time',
  'for_site',
  'flags',
  'url',
  'thumbnail_url',
]

/** A node of a path takes some hundred bytes, and a drawn building has thousands of them. */
const MAX_MAP_BYTES = 512 * 1024

/** Replaces the top-level fields that `change` names; see mergeDocument. */
export function mergeMap(before: MapDocument, change: MapDocument): Record<string, unknown> {
  return omitFields(mergeDocument(before, change, MAX_MAP_BYTES), OWN_FIELDS)
}

/** How a person would call it, in the audit log. */
export function titleOf({ id, doc }: Pick<SiteMap, 'id' | 'doc'>): string {
  const { name } = doc
  return typeof name === 'string' && name !== '' ? `"${name}"` : id
}
