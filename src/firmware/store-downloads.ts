import { sql } from 'kysely'
import type { InOrg, OrgScope } from '../access/scope.ts'
import { progressAt } from '../devices/stats/fwupdate.ts'
import { raiseProgress } from '../devices/stats/store-fwupdates.ts'
import type { Reader, Tx } from '../platform/db.ts'
import { columnsOf, rowsAs } from '../platform/rows.ts'

/** A download belongs to the command that caused it: each attempt has its own address, hence its own row. */
export interface DownloadKey {
  readonly commandId: string
  readonly imageId: string
}

const keyColumns = columnsOf('firmwareDownload', { commandId: 'uuid', imageId: 'uuid' })

/**
 * Stops the downloads of commands permanently, unless their devices may already have the whole image. A download that
 * is stopped before its last byte was sent can't be flashed; this also works before the first request. Repeated calls
 * return the same result.
 * @returns The ids of the commands whose downloads are stopped. The devices of the others may flash: wait for them.
 */
export async function fenceDownloads(tx: Tx, scope: InOrg, keys: readonly DownloadKey[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  // Rows of several downloads are locked in one order everywhere.
  const { rows: fenced } = await sql<{ commandId: string }>`
    insert into firmware_download (org_id, command_id, image_id, started_at, touched_at, bytes_served, fenced_at)
    select ${scope.orgId}::uuid, command_id, image_id, now(), now(), 0, now()
    from ${rowsAs('new', keyColumns, keys)}
    order by command_id
    on conflict (org_id, command_id) do update set fenced_at = coalesce(firmware_download.fenced_at, now())
      where firmware_download.delivered_at is null
    returning command_id
  `.execute(tx)
  return new Set(fenced.map(({ commandId }) => commandId))
}

/**
 * Records that a response to the device begins.
 * @returns False for a fenced download: nothing may be sent.
 */
export async function startDownload(tx: Tx, scope: OrgScope, key: DownloadKey & Moment): Promise<boolean> {
  const { at, atMs, ...id } = key
  const row = await tx
    .insertInto('firmwareDownload')
    .values({ ...identity(scope, id), startedAt: at, touchedAt: at, touchedMs: atMs, bytesServed: '0' })
    .onConflict((conflict) =>
      conflict
        .columns(['orgId', 'commandId'])
        .doUpdateSet({ touchedAt: at, touchedMs: atMs })
        .where('firmwareDownload.fencedAt', 'is', null),
    )
    .returning('commandId')
    .executeTakeFirst()
  return row !== undefined
}

interface Moment {
  readonly at: Date
  /** The same instant in service time. */
  readonly atMs: number
}

export interface DownloadProgress extends Moment {
  readonly commandId: string
  /** Bytes sent since the last record of this response. */
  readonly bytes: number
  /** True if the next byte is the image's last: from here on the device may flash. */
  readonly last: boolean
}

/**
 * Records progress. With `last`, this is the write that decides between delivery and fence: the row's lock orders the
 * two, and whichever commits first excludes the other.
 * @returns False for a fenced download: nothing more may be sent.
 */
export async function touchDownload(tx: Tx, scope: OrgScope, progress: DownloadProgress): Promise<boolean> {
  const { commandId, at, atMs, bytes, last } = progress
  const row = await tx
    .updateTable('firmwareDownload')
    .set({
      touchedAt: at,
      touchedMs: atMs,
      bytesServed: sql<string>`bytes_served + ${bytes}`,
      ...(last && { deliveredAt: sql<Date>`coalesce(delivered_at, ${at})` }),
    })
    .where('orgId', '=', scope.orgId)
    .where('commandId', '=', commandId)
    .where('fencedAt', 'is', null)
    .returning('commandId')
    .executeTakeFirst()
  if (row !== undefined) await showDownload(tx, scope, { commandId, at })
  return row !== undefined
}

/** Updates the device's `fwupdate`. Bytes of interrupted requests count too, so only delivery proves the end. */
async function showDownload(
  tx: Tx,
  scope: OrgScope,
  { commandId, at }: { commandId: string; at: Date },
): Promise<void> {
  const { requested, downloaded } = progressAt
  const { rows } = await sql<{ deviceId: string; progress: number }>`
    select command.device_id, case when served.delivered_at is not null then ${downloaded}::integer
      else least(${downloaded - 1}::integer,
        ${requested}::integer + (${downloaded - requested}::integer * served.bytes_served / image.size_bytes)::integer)
      end as progress
    from firmware_download served
    join firmware_image image on image.org_id = served.org_id and image.id = served.image_id
    join device_command command on command.org_id = served.org_id and command.id = served.command_id
    where served.org_id = ${scope.orgId} and served.command_id = ${commandId}
  `.execute(tx)
  for (const shown of rows) await raiseProgress(tx, scope, { ...shown, at })
}

/** Returns the version that the command is to install: one of those that its image is offered as. */
export async function findCommandVersion(
  reader: Reader,
  scope: OrgScope,
  commandId: string,
): Promise<string | undefined> {
  const row = await reader
    .selectFrom('deviceCommand')
    .select(sql<string | null>`params ->> 'version'`.as('version'))
    .where('orgId', '=', scope.orgId)
    .where('id', '=', commandId)
    .executeTakeFirst()
  return row?.version ?? undefined
}

/** Returns the site for which the command was given; null for one without a site, and for one of an edge appliance. */
export async function findCommandSite(reader: Reader, scope: OrgScope, commandId: string): Promise<string | null> {
  const row = await reader
    .selectFrom('deviceCommand')
    .select('siteId')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', commandId)
    .executeTakeFirst()
  return row?.siteId ?? null
}

function identity(scope: OrgScope, { commandId, imageId }: DownloadKey) {
  return { orgId: scope.orgId, commandId, imageId }
}
