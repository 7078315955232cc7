import type { Document } from '../platform/json/document.ts'
import { mergeDocument, omitFields } from '../http/bodies/documents.ts'
import { readOnlyOf } from '../http/read-only-fields.ts'
import { invalidField } from '../platform/errors.ts'
import { omitSecrets } from './secrets/secrets.ts'
import type { Org } from './store.ts'
import type { Site } from './sites/store.ts'
import { IANAZone } from 'luxon'

/** Fields of a site that no answer shows as null. Clients that send null mean that there is no value. */
const notNull = ['country_code', 'latlng']

export interface OrgDocument {
  readonly name: string
  readonly doc: Record<string, unknown>
}

export interface SiteDocument extends OrgDocument {
  /** IANA zone name. */
  readonly timezone: string
}

/** Merges a client's body into the stored document; `before` is null on creation. */
export function mergeOrg(before: Org | null, body: Document): OrgDocument {
  const merged = mergeDocument({ ...before?.doc, name: before?.name }, body)
  return { name: requireName(merged), doc: omitFields(merged, [...readOnlyOf('Org'), 'name']) }
}

/** Does the same as mergeOrg(). @throws AppError invalid for a zone that the IANA database does not have. */
export function mergeSite(before: Omit<Site, 'docBytes'> | null, body: Document): SiteDocument {
  const merged = mergeDocument({ ...before?.doc, name: before?.name, timezone: before?.timezone ?? 'UTC' }, body)
  const timezone = merged['timezone'] ?? 'UTC'
  // The check takes longer than the rest, and the stored zone has passed it.
  if (typeof timezone !== 'string' || (timezone !== before?.timezone && !IANAZone.isValidZone(timezone)))
    throw invalidField('timezone', 'is not an IANA zone name')
  const unset = notNull.filter((name) => merged[name] === null)
  const doc = omitFields(merged, [...readOnlyOf('Site'), ...unset, 'name', 'timezone'])
  const groups = doc['sitegroup_ids']
  // Privileges are looked up by these ids as text, so all are stored in lower case.
  if (Array.isArray(groups)) doc['sitegroup_ids'] = groups.map((id) => String(id).toLowerCase())
  return { name: requireName(merged), timezone, doc }
}

/** Returns the organization in the form that the audit log shows. */
export function auditDocumentOfOrg({ name, doc }: OrgDocument): Record<string, unknown> {
  return { ...omitSecrets(doc), name }
}

/** Lists the ids of the groups that one of the documents of a site names and the other does not. */
export function listChangedGroups(
  before: Pick<SiteDocument, 'doc'> | null,
  after: Pick<SiteDocument, 'doc'>,
): string[] {
  const was = before === null ? new Set<string>() : groupsOf(before)
  return [...was.symmetricDifference(groupsOf(after))]
}

function groupsOf({ doc }: Pick<SiteDocument, 'doc'>): Set<string> {
  const groups = doc['sitegroup_ids']
  return new Set(Array.isArray(groups) ? groups.map(String) : [])
}

function requireName(document: Document): string {
  const name = document['name']
  if (typeof name !== 'string' || name === '') throw invalidField('name', 'is required')
  return name
}
