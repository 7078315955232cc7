import { type RawBuilder, sql } from 'kysely'
import type { InOrg, SiteScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import type { SupportCommand, SupportSource } from './source.ts'

/** A file that a machine has uploaded for a command. */
export interface SupportFile {
  /** The id of the command. */
  readonly id: string
  readonly bytes: number
  readonly createdAt: Date
}

/** The files of one machine: the rest of a query, from its tables on, in which `support_file` is called `file`. */
export type FilesOf = RawBuilder<unknown>

/** The files of a device of the site. */
export function filesOfDevice(scope: SiteScope, deviceId: string): FilesOf {
  return sql`support_file file
    join device_command command on command.org_id = file.org_id and command.id = file.device_command_id
    join device on device.org_id = command.org_id and device.id = command.device_id and device.site_id = ${scope.siteId}
      and command.site_id = device.site_id
    where file.org_id = ${scope.orgId} and command.device_id = ${deviceId}`
}

const columns = sql`file.id, file.bytes::float8 as bytes, file.created_at`

/** Lists the files, the newest first. */
export function listSupportFiles(reader: Reader, files: FilesOf, page: Page): Promise<Paged<SupportFile>> {
  const hits = sql`select ${columns} from ${files}`
  return pageOf<SupportFile>(reader, { hits, direction: 'desc', sizes: smallRows }, page)
}

export async function findSupportFile(reader: Reader, files: FilesOf, id: string): Promise<SupportFile | undefined> {
  const { rows } = await sql<SupportFile>`select ${columns} from ${files} and file.id = ${id}`.execute(reader)
  return rows[0]
}

/** @returns The name of the file on disk; undefined if there is none. */
export async function deleteSupportFileRow(
  tx: Tx,
  scope: InOrg,
  { files, id }: { readonly files: FilesOf; readonly id: string },
): Promise<string | undefined> {
  if ((await findSupportFile(tx, files, id)) === undefined) return undefined
  const row = await tx
    .deleteFrom('supportFile')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .returning('name')
    .executeTakeFirst()
  return row?.name
}

/** The commands to devices. */
export const deviceSupport: SupportSource = {
  ofMxedge: false,
  async findCommand(reader, scope, commandId) {
    const { rows } = await sql<Omit<SupportCommand, 'machineIs'>>`
      select command.state, command.device_id, device.mac as machine, command.site_id, file.name as file,
        'Device ' || coalesce(device.name, device.mac) as title, file.bytes::float8 as bytes,
        exists (select from router_key where router_key.device_id = device.id) as may_repeat
      from device_command command
      join device on device.org_id = command.org_id and device.id = command.device_id
      left join support_file file on file.org_id = command.org_id and file.device_command_id = command.id
      where command.org_id = ${scope.orgId} and command.id = ${commandId} and command.kind = 'support'
    `.execute(reader)
    return rows[0] && { ...rows[0], machineIs: 'the serial number of the device' }
  },
  async shareCommand(tx, scope, commandId) {
    const { rows } = await sql`
      select from device_command where org_id = ${scope.orgId} and id = ${commandId} for key share`.execute(tx)
    return rows.length > 0
  },
}

export interface NewSupportFile {
  readonly commandId: string
  readonly ofMxedge: boolean
  readonly name: string
  readonly bytes: number
  readonly at: Date
}

/** Records the file of a locked command. @returns False if the command has a file already. */
export async function insertSupportFile(
  tx: Tx,
  scope: InOrg,
  { commandId: id, at: createdAt, bytes, ...file }: NewSupportFile,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('supportFile')
    .values({ ...file, id, createdAt, bytes: String(bytes), orgId: scope.orgId })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** Returns those of the names that have a row. Files have no tenant, so this reads across organizations. */
export async function filterKnownNames(reader: Reader, names: readonly string[]): Promise<Set<string>> {
  const rows = await reader.selectFrom('supportFile').select('name').where('name', '=', anyOf(names)).execute()
  return new Set(rows.map(({ name }) => name))
}
