import type { Selectable } from 'kysely'
import { mergeDocument, omitFields } from '../../http/documents.ts'
import { invalidField } from '../../platform/errors.ts'
import type { SiteGroupTable } from '../tables.ts'
import type { Document } from '../org.ts'
import { omitSecrets } from '../secrets.ts'

/** Its sites are those that name it in their `sitegroup_ids`, by id; of a limited scope only that scope's. */
export type SiteGroup = Selectable<SiteGroupTable> & { readonly siteIds: readonly string[] }

export interface SiteGroupContent {
  readonly name: string
  readonly doc: Record<string, unknown>
  /** The sites it is to have, in lower case; null leaves them as they are. */
  readonly siteIds: readonly string[] | null
}

/** What the service decides itself; a client that sends it back changes nothing. */
const readOnly = ['id', 'org_id', 'created_time', 'modified_time']

/** Merges a client's body over what is stored; `before` is null on creation. */
export function mergeSiteGroup(before: SiteGroup | null, body: Document): SiteGroupContent {
  const merged = mergeDocument({ ...before?.doc, name: before?.name }, body)
  const { name } = merged
  if (typeof name !== 'string' || name === '') throw invalidField('name', 'is required')
  return {
    name,
    siteIds: '-site_ids' in body ? [] : idsOf(merged['site_ids']),
    doc: omitFields(merged, [...readOnly, 'name', 'site_ids']),
  }
}

/** The route's schema has checked that the members are ids. */
function idsOf(value: unknown): string[] | null {
  return Array.isArray(value) ? [...new Set(value.map((id) => String(id).toLowerCase()))] : null
}

/** A group as the audit log shows it. */
export function auditDocument(group: SiteGroup): Record<string, unknown> {
  return { ...omitSecrets(group.doc), name: group.name, site_ids: group.siteIds }
}
