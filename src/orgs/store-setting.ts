import type { Selectable } from 'kysely'
import type { OrgScope } from '../access/scope.ts'
import { type Reader, type Tx, json } from '../platform/db.ts'
import type { OrgSettingTable } from '../platform/schema/accounts.ts'
import { type PasswordPolicy, type SettingDocument, shortestIdleMinutes, strictestPolicy } from './setting.ts'

export type Setting = Selectable<OrgSettingTable>

/** Undefined until somebody has set something. */
export async function findSetting(reader: Reader, scope: OrgScope): Promise<Setting | undefined> {
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
export async function hidesSecrets(reader: Reader, scope: OrgScope): Promise<boolean> {
  const setting = await findSetting(reader, scope)
  return setting !== undefined && settingDocument(setting).api_policy?.no_reveal === true
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
