import { sql } from 'kysely'
import type { InOrg, SiteScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists.ts'
import { smallRows } from '../../http/store-bounds.ts'
import { pageOf } from '../../http/store-pages.ts'
import { type Reader, type Tx, anyOf } from '../../platform/db.ts'
import type { CommandState } from '../tables.ts'

/** A file that a device has uploaded for a command. */
export interface SupportFile {
  /** The id of the command. */
  readonly id: string
  readonly deviceId: string
  readonly bytes: number
  readonly createdAt: Date
}

const columns = sql`file.id, command.device_id, file.bytes::float8 as bytes, file.created_at`

function filesOf(scope: SiteScope, deviceId: string) {
  return sql`support_file file
    join device_command command on command.org_id = file.org_id and command.id = file.id
    join device on device.org_id = command.org_id and device.id = command.device_id and device.site_id = ${scope.siteId}
      and command.site_id = device.site_id
    where file.org_id = ${scope.orgId} and command.device_id = ${deviceId}`
}

/** Lists the files of a device of the site, the newest first. */
export function listSupportFiles(
  reader: Reader,
  scope: SiteScope,
  { deviceId, page }: { readonly deviceId: string; readonly page: Page },
): Promise<Paged<SupportFile>> {
  const hits = sql`select ${columns} from ${filesOf(scope, deviceId)}`
  return pageOf<SupportFile>(reader, { hits, direction: 'desc', sizes: smallRows }, page)
}

export interface SupportFileKey {
  readonly deviceId: string
  readonly id: string
}

export async function findSupportFile(
  reader: Reader,
  scope: SiteScope,
  { deviceId, id }: SupportFileKey,
): Promise<SupportFile | undefined> {
  const { rows } = await sql<SupportFile>`
    select ${columns} from ${filesOf(scope, deviceId)} and file.id = ${id}`.execute(reader)
  return rows[0]
}

/** @returns The name of the file on disk; undefined where there is none. */
export async function deleteSupportFileRow(tx: Tx, scope: SiteScope, key: SupportFileKey): Promise<string | undefined> {
  if ((await findSupportFile(tx, scope, key)) === undefined) return undefined
  const row = await tx
    .deleteFrom('supportFile')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', key.id)
    .returning('name')
    .executeTakeFirst()
  return row?.name
}

/** The command for which a device uploads a file. */
export interface SupportCommand {
  readonly state: CommandState
  readonly deviceId: string
  readonly mac: string
  readonly name: string | null
  /** The site for which the command was sent, where the device may no longer be. */
  readonly siteId: string | null
  /** Name of the file on disk; null before the upload. */
  readonly file: string | null
  readonly bytes: number | null
}

export async function findSupportCommand(
  reader: Reader,
  scope: InOrg,
  commandId: string,
): Promise<SupportCommand | undefined> {
  const { rows } = await sql<SupportCommand>`
    select command.state, command.device_id, device.mac, device.name, command.site_id, file.name as file,
      file.bytes::float8 as bytes
    from device_command command
    join device on device.org_id = command.org_id and device.id = command.device_id
    left join support_file file on file.org_id = command.org_id and file.id = command.id
    where command.org_id = ${scope.orgId} and command.id = ${commandId} and command.kind = 'support'
  `.execute(reader)
  return rows[0]
}

export interface NewSupportFile {
  readonly commandId: string
  readonly name: string
  readonly bytes: number
  readonly at: Date
}

/** @returns False where the command has a file already, or is gone. */
export async function insertSupportFile(
  tx: Tx,
  scope: InOrg,
  { commandId, name, bytes, at }: NewSupportFile,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    insert into support_file (org_id, id, name, bytes, created_at)
    select command.org_id, command.id, ${name}, ${bytes}, ${at} from device_command command
    where command.org_id = ${scope.orgId} and command.id = ${commandId}
    for key share
    on conflict do nothing`.execute(tx)
  return numAffectedRows === 1n
}

/** Of the names, returns those that a row has. Files have no tenant, so this reads across organizations. */
export async function filterKnownNames(reader: Reader, names: readonly string[]): Promise<Set<string>> {
  const rows = await reader.selectFrom('supportFile').select('name').where('name', '=', anyOf(names)).execute()
  return new Set(rows.map(({ name }) => name))
}
