import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf, json } from '../../platform/database/db.ts'
import { documentText } from '../../platform/sealing/document-column.ts'
import type { OrgSettingTable } from '../tables.ts'
import type { SiteSettingTable } from '../tables.ts'
import type { Document } from '../../platform/json/document.ts'
import {
  type InstallerSetting,
  type PasswordPolicy,
  type SettingDocument,
  accessPolicyOf,
  deriveSetting,
  installerSettingOf,
  strictestPolicy,
  updownFields,
  windowsOf,
} from './setting.ts'
import type { MaintenanceWindow } from '../windows/windows.ts'

type Generated = 'autoUpgrade' | 'autoUpgradeHash' | 'onboarding'
export type Setting = Omit<Selectable<OrgSettingTable>, Generated>
export type SiteSetting = Omit<Selectable<SiteSettingTable>, Generated>

/** Undefined while the organization has no settings. */
export async function findSetting(reader: Reader, scope: InOrg): Promise<Setting | undefined> {
  return reader
    .selectFrom('orgSetting')
    .select(['orgId', 'doc', 'createdAt', 'modifiedAt'])
    .where('orgId', '=', scope.orgId)
    .executeTakeFirst()
}

/**
 * Also updates the access policy beside the organization's row, which follows from the settings. The database does not
 * return the document, which may have a megabyte.
 */
export async function upsertSetting(
  tx: Tx,
  scope: OrgScope,
  { doc, at }: { readonly doc: Record<string, unknown>; readonly at: Date },
): Promise<Setting> {
  const written = { doc: documentText(doc), modifiedAt: at }
  const accessPolicy = accessPolicyOf(doc)
  const policy = accessPolicy === null ? null : json(accessPolicy)
  await tx
    .updateTable('org')
    .set({ accessPolicy: policy })
    .where('id', '=', scope.orgId)
    .where(sql<boolean>`access_policy is distinct from ${policy}::jsonb`)
    .execute()
  const row = await tx
    .insertInto('orgSetting')
    .values({ orgId: scope.orgId, createdAt: at, ...written })
    .onConflict((conflict) => conflict.column('orgId').doUpdateSet(written))
    .returning(['orgId', 'createdAt', 'modifiedAt'])
    .executeTakeFirstOrThrow()
  return { ...row, doc }
}

/** Combines the demands of all organizations of the admin on a new password. */
export async function passwordPolicyOf(reader: Reader, adminId: string): Promise<PasswordPolicy> {
  const rows = await reader
    .selectFrom('orgSetting')
    .select(partOfDocument(['password_policy']).as('doc'))
    .where('orgId', 'in', (eb) => eb.selectFrom('privilege').select('orgId').where('adminId', '=', adminId))
    .execute()
  return strictestPolicy(rows.map(({ doc }) => doc))
}

/** True if `api_policy.no_reveal` hides the organization's secrets from everyone. */
export async function hidesSecrets(reader: Reader, scope: InOrg): Promise<boolean> {
  return (await findPart(reader, scope, ['api_policy'])).api_policy?.no_reveal === true
}

/** Returns the objects that the role `installer` may change; the defaults if nothing is set. */
export async function findInstallerSetting(reader: Reader, scope: InOrg): Promise<InstallerSetting> {
  return installerSettingOf(await findPart(reader, scope, ['installer']))
}

/** A site of an organization, or the organization itself if the site is null. */
export interface SettingPlace {
  readonly orgId: string
  readonly siteId: string | null
}

/**
 * Reads the updown thresholds of places in several organizations, for workers, with two queries.
 * @returns For each place the result of deriveSetting().
 */
export function readerOfThresholds(
  reader: Reader,
  places: readonly SettingPlace[],
): Promise<(place: SettingPlace) => Document> {
  return readerOf(reader, places, updownFields)
}

/**
 * Reads the maintenance windows of sites, with two queries.
 * @param siteIds Null represents the organization itself.
 * @returns By site; sites without windows are left out.
 */
export async function listWindows<S extends string | null>(
  reader: Reader,
  { orgId }: InOrg,
  siteIds: readonly S[],
): Promise<ReadonlyMap<S, readonly MaintenanceWindow[]>> {
  const places = siteIds.map((siteId) => ({ orgId, siteId }))
  const read = await readerOf(reader, places, ['maintenance_windows'])
  return new Map(
    places.flatMap((place) => {
      const windows = windowsOf(read(place))
      return windows === null ? [] : [[place.siteId, windows] as const]
    }),
  )
}

async function readerOf(
  reader: Reader,
  places: readonly SettingPlace[],
  fields: readonly string[],
): Promise<(place: SettingPlace) => Document> {
  const part = partOfDocument<Document>(fields)
  const orgIds = [...new Set(places.map(({ orgId }) => orgId))]
  const siteIds = [...new Set(places.flatMap(({ siteId }) => siteId ?? []))]
  const ofOrgs = await reader
    .selectFrom('orgSetting')
    .select(['orgId', part.as('doc')])
    .where('orgId', '=', anyOf(orgIds))
    .execute()
  const ofSites = await reader
    .selectFrom('siteSetting')
    .select(['siteId', part.as('doc')])
    .where('orgId', '=', anyOf(orgIds))
    .where('siteId', '=', anyOf(siteIds))
    .execute()
  const byOrg = new Map(ofOrgs.map(({ orgId, doc }) => [orgId, doc]))
  const bySite = new Map(ofSites.map(({ siteId, doc }) => [siteId, doc]))
  return ({ orgId, siteId }) => deriveSetting(byOrg.get(orgId) ?? {}, bySite.get(siteId ?? '') ?? {})
}

async function findPart(
  reader: Reader,
  { orgId }: InOrg,
  fields: readonly (keyof SettingDocument)[],
): Promise<SettingDocument> {
  const row = await reader
    .selectFrom('orgSetting')
    .select(partOfDocument(fields).as('doc'))
    .where('orgId', '=', orgId)
    .executeTakeFirst()
  return row?.doc ?? {}
}

/**
 * Selects only some fields of settings: the others may have a hundred kilobytes. Their schema was checked when they
 * were stored.
 */
function partOfDocument<T = SettingDocument>(fields: readonly string[]): RawBuilder<T> {
  return sql<T>`(select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(doc) where key = ${anyOf(fields)})`
}
