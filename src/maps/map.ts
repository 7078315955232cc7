import type { Selectable } from 'kysely'
import { mergeDocument, omitFields } from '../http/bodies/documents.ts'
import { readOnlyOf } from '../http/read-only-fields.ts'
import { omitSecrets } from '../orgs/secrets/secrets.ts'
import { isObject } from '../platform/json/is-object.ts'
import { identifyPaths } from './survey-paths.ts'
import type { SiteMapTable } from './tables.ts'

/** A floor plan, or a section of a street map. */
export type SiteMap = Selectable<SiteMapTable>

/** In wire shape; see wire.ts for its fields. */
export type MapDocument = Readonly<Record<string, unknown>>

/** A node of a path takes some hundred bytes, and a drawn building has thousands of them. */
const MAX_MAP_BYTES = 512 * 1024

/** Replaces the top-level fields that `change` names; see mergeDocument(). */
export function mergeMap(before: MapDocument, change: MapDocument): Record<string, unknown> {
  const complete = keepPathIds(before, keepVendorMap(before, change))
  return omitFields(mergeDocument(before, complete, MAX_MAP_BYTES), readOnlyOf('SiteMap'))
}

function keepPathIds(before: MapDocument, change: MapDocument): MapDocument {
  const { sitesurvey_path: paths } = change
  if (!Array.isArray(paths)) return change
  return { ...change, sitesurvey_path: identifyPaths(before['sitesurvey_path'], paths) }
}

/**
 * The specification has `wayfinding.mapvendor.map_id` only in answers, so if a client writes `mapvendor` without it,
 * the known map of the same account stays.
 */
function keepVendorMap(before: MapDocument, change: MapDocument): MapDocument {
  const wayfinding = objectOf(change['wayfinding'])
  const vendor = wayfinding['mapvendor']
  if (!isObject(vendor) || 'map_id' in vendor) return change
  const known = objectOf(before['wayfinding'])
  const account = [known['mapvendor'], known['micello']]
    .map(objectOf)
    .find((one) => one['map_id'] !== undefined && one['account_key'] === vendor['account_key'])
  if (account === undefined) return change
  return { ...change, wayfinding: { ...wayfinding, mapvendor: { ...vendor, map_id: account['map_id'] } } }
}

function objectOf(value: unknown): MapDocument {
  return isObject(value) ? value : {}
}

/** Returns a map for the audit log, without secrets. */
export function auditDocument({ id, doc }: Pick<SiteMap, 'id' | 'doc'>): Record<string, unknown> {
  return { ...omitSecrets(doc), map_id: id }
}

/** Returns the map's name for people, as the audit log shows it. */
export function titleOf({ id, doc }: Pick<SiteMap, 'id' | 'doc'>): string {
  const { name } = doc
  return typeof name === 'string' && name !== '' ? `"${name}"` : id
}
