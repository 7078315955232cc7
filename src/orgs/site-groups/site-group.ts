import type { Selectable } from 'kysely'
import { mergeDocument, omitFields } from '../../http/bodies/documents.ts'
import { readOnlyOf } from '../../http/read-only-fields.ts'
import { invalidField } from '../../platform/errors.ts'
import type { SiteGroupTable } from '../tables.ts'
import type { Document } from '../../platform/json/document.ts'
import { omitSecrets } from '../secrets/secrets.ts'

/**
 * `siteIds` are the sites that name the group in their `sitegroup_ids`, by id, and only those that the scope covers.
 */
export type SiteGroup = Selectable<SiteGroupTable> & { readonly siteIds: readonly string[] }

export interface SiteGroupContent {
  readonly name: string
  readonly doc: Record<string, unknown>
  /** The sites that the group is to have, in lower case; null leaves them unchanged. */
  readonly siteIds: readonly string[] | null
}

/** Merges a client's body into the stored group; `before` is null on creation. */
export function mergeSiteGroup(before: SiteGroup | null, body: Document): SiteGroupContent {
  const merged = mergeDocument({ ...before?.doc, name: before?.name }, body)
  const { name } = merged
  if (typeof name !== 'string' || name === '') throw invalidField('name', 'is required')
  return {
    name,
    siteIds: '-site_ids' in body ? [] : idsOf(merged['site_ids']),
    doc: omitFields(merged, [...readOnlyOf('SiteGroup'), 'name', 'site_ids']),
  }
}

/** The route's schema has checked that the members are ids. */
function idsOf(value: unknown): string[] | null {
  return Array.isArray(value) ? [...new Set(value.map((id) => String(id).toLowerCase()))] : null
}

/** Returns the group in the form that the audit log shows. */
export function auditDocument(group: SiteGroup): Record<string, unknown> {
  return { ...omitSecrets(group.doc), name: group.name, site_ids: group.siteIds }
}
