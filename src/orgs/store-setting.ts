import { type Selectable, sql } from 'kysely'
import type { InOrg, OrgScope } from '../access/scope.ts'
import { type Reader, type Tx, anyOf, json } from '../platform/db.ts'
import type { OrgSettingTable } from './tables.ts'
import type { SiteSettingTable } from './tables.ts'
import type { Document } from './org.ts'
import {
  type InstallerSetting,
  type PasswordPolicy,
  type SettingDocument,
  deriveSetting,
  installerSettingOf,
  shortestIdleMinutes,
  strictestPolicy,
  updownFields,
} from './setting.ts'

export type Setting = Selectable<OrgSettingTable>
export type SiteSetting = Selectable<SiteSettingTable>

/** Undefined until somebody has set something. */
export async function findSetting(reader: Reader, scope: InOrg): Promise<Setting | undefined> {
  return reader.selectFrom('orgSetting').selectAll().where('orgId', '=', scope.orgId).executeTakeFirst()
}

export async function upsertSetting(
  tx: Tx,
  scope: OrgScope,
  { doc, at }: { readonly doc: Record<string, unknown>; readonly at: Date },
): Promise<Setting> {
  const written = { doc: json(doc), modifiedAt: at }
  return tx
    .insertInto('orgSetting')
    .values({ orgId: scope.orgId, createdAt: at, ...written })
    .onConflict((conflict) => conflict.column('orgId').doUpdateSet(written))
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** What all organizations of the admin together ask of their password. */
export async function passwordPolicyOf(reader: Reader, adminId: string): Promise<PasswordPolicy> {
  return strictestPolicy(await listSettingsOfAdmin(reader, adminId))
}

/** After how many minutes without a request a session of the admin ends; null: never. */
export async function idleMinutesOf(reader: Reader, adminId: string): Promise<number | null> {
  return shortestIdleMinutes(await listSettingsOfAdmin(reader, adminId))
}

/** `api_policy.no_reveal`: secrets of the organization are shown to nobody. */
export async function hidesSecrets(reader: Reader, scope: InOrg): Promise<boolean> {
  const setting = await findSetting(reader, scope)
  return setting !== undefined && settingDocument(setting).api_policy?.no_reveal === true
}

/** What those with the role `installer` may work on; the defaults where nothing is set. */
export async function findInstallerSetting(reader: Reader, scope: InOrg): Promise<InstallerSetting> {
  const setting = await findSetting(reader, scope)
  return installerSettingOf(setting === undefined ? {} : settingDocument(setting))
}

/** A site of an organization; null: no site. */
export interface SettingPlace {
  readonly orgId: string
  readonly siteId: string | null
}

/** A setting with nothing but the thresholds: the rest of thousands of sites may be long. */
const thresholds = sql<Document>`(
  select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(doc) where key = ${anyOf(updownFields)})`

/**
 * The updown thresholds that hold in places of several organizations, for workers: two queries.
 * @returns Of each place what deriveSetting() makes of them.
 */
export async function readerOfThresholds(
  reader: Reader,
  places: readonly SettingPlace[],
): Promise<(place: SettingPlace) => Document> {
  const orgIds = [...new Set(places.map(({ orgId }) => orgId))]
  const siteIds = [...new Set(places.flatMap(({ siteId }) => siteId ?? []))]
  const ofOrgs = await reader
    .selectFrom('orgSetting')
    .select(['orgId', thresholds.as('doc')])
    .where('orgId', '=', anyOf(orgIds))
    .execute()
  const ofSites = await reader
    .selectFrom('siteSetting')
    .select(['siteId', thresholds.as('doc')])
    .where('orgId', '=', anyOf(orgIds))
    .where('siteId', '=', anyOf(siteIds))
    .execute()
  const byOrg = new Map(ofOrgs.map(({ orgId, doc }) => [orgId, doc]))
  const bySite = new Map(ofSites.map(({ siteId, doc }) => [siteId, doc]))
  return ({ orgId, siteId }) => deriveSetting(byOrg.get(orgId) ?? {}, bySite.get(siteId ?? '') ?? {})
}

async function listSettingsOfAdmin(reader: Reader, adminId: string): Promise<SettingDocument[]> {
  const rows = await reader
    .selectFrom('orgSetting')
    .selectAll()
    .where('orgId', 'in', (eb) => eb.selectFrom('privilege').select('orgId').where('adminId', '=', adminId))
    .execute()
  return rows.map(settingDocument)
}

/** The route's schema has checked these members before they were stored. */
function settingDocument({ doc }: Setting): SettingDocument {
  return doc
}
