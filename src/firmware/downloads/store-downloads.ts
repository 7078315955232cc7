import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { progressAt } from '../../devices/stats/fwupdate.ts'
import { raiseProgress } from '../../devices/stats/store-fwupdates.ts'
import type { Reader, Tx } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'
import { statement } from '../../platform/database/statement.ts'

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

/** A command and the image that its device downloads. */
interface TicketKey extends DownloadKey {
  readonly orgId: string
}

const ticketColumns = columnsOf('firmwareDownload', { orgId: 'uuid', commandId: 'uuid', imageId: 'uuid' })

/** What a response to a device needs. */
export interface TicketImage {
  /** Lower-case hex. */
  readonly sha256: string
  readonly sizeBytes: number
  /** The version that the command is to install: one of those that its image is offered as. */
  readonly version: string | null
  /** The site for which the command was given; null for one without a site, and for one of an edge appliance. */
  readonly siteId: string | null
}

const selectTicketImages = statement<{ readonly tickets: readonly TicketKey[] }, TicketImage & { found: boolean }>(
  (param) => sql`
    select image.id is not null as found, image.sha256, image.size_bytes::float8 as size_bytes,
      command.version, command.site_id
    from ${rowsAs('ticket', ticketColumns, param('tickets'), 'place')}
    left join firmware_image image on image.org_id = ticket.org_id and image.id = ticket.image_id
    left join device_command command on command.org_id = ticket.org_id and command.id = ticket.command_id
    order by ticket.place
  `,
)

/** @returns One result for each ticket, in their order: undefined if the image does not exist. */
export async function listTicketImages(
  reader: Reader,
  tickets: readonly TicketKey[],
): Promise<(TicketImage | undefined)[]> {
  const rows = await selectTicketImages(reader, { tickets })
  return rows.map(({ found, ...image }) => (found ? image : undefined))
}

interface Moment {
  readonly at: Date
  /** The same instant in service time. */
  readonly atMs: number
}

/**
 * `fenced`: nothing more may be sent to the device. `locked`: nothing is recorded, because another transaction is changing
 * the download; ask again.
 */
export type RecordState = 'going' | 'fenced' | 'locked'

// Downloads of all organizations are recorded together, so none may wait for a transaction of one of them: a fence, or a
// change of an upgrade. A download that is being fenced at this moment, before it has begun, is the only exception. New
// rows are inserted in the order of their commands, as by fenceDownloads(), and before others are locked. An insert would
// also wait for the change of an existing row, even if it does nothing then.
const insertStarted = statement<
  Moment & { readonly started: readonly TicketKey[] },
  { commandId: string; state: RecordState }
>(
  (param) => sql`
    with said as materialized (select * from ${rowsAs('said', ticketColumns, param('started'))}),
    inserted as (
      insert into firmware_download (org_id, command_id, image_id, started_at, touched_at, touched_ms, bytes_served)
      select org_id, command_id, image_id, ${param('at')}::timestamptz, ${param('at')}::timestamptz, ${param('atMs')}::float8, 0
      from said
      where not exists (select from firmware_download seen where seen.org_id = said.org_id and seen.command_id = said.command_id)
      order by command_id
      on conflict (org_id, command_id) do nothing
      returning org_id, command_id
    ), open as materialized (
      select own.org_id, own.command_id
      from said
      join firmware_download own on own.org_id = said.org_id and own.command_id = said.command_id
      where own.fenced_at is null
        and not exists (select from inserted where inserted.org_id = said.org_id and inserted.command_id = said.command_id)
      order by own.command_id for update of own skip locked
    ), touched as (
      update firmware_download own set touched_at = ${param('at')}::timestamptz, touched_ms = ${param('atMs')}::float8
      from open where own.org_id = open.org_id and own.command_id = open.command_id
      returning own.org_id, own.command_id
    )
    select said.command_id,
      case when going.command_id is not null then 'going' when seen.fenced_at is not null then 'fenced' else 'locked' end as state
    from said
    left join (select * from inserted union all select * from touched) going
      on going.org_id = said.org_id and going.command_id = said.command_id
    left join firmware_download seen on seen.org_id = said.org_id and seen.command_id = said.command_id
  `,
)

/**
 * Records that responses to devices begin.
 * @param started Of distinct commands.
 * @returns The state of each download by its command.
 */
export async function startDownloads(
  tx: Tx,
  started: readonly TicketKey[],
  moment: Moment,
): Promise<Map<string, RecordState>> {
  const rows = await insertStarted(tx, { started, ...moment })
  return new Map(rows.map(({ commandId, state }) => [commandId, state]))
}

export interface DownloadProgress {
  readonly orgId: string
  readonly commandId: string
  /** Bytes sent since the last record of this response. */
  readonly bytes: number
  /** True if the next byte is the image's last: from here on the device may flash. */
  readonly last: boolean
}

const progressColumns = columnsOf(
  'firmwareDownload',
  { orgId: 'uuid', commandId: 'uuid' },
  { bytes: 'float8', last: 'boolean' },
)

interface Touched {
  readonly orgId: string
  readonly commandId: string
  readonly state: RecordState
  /** Null unless it is the command of a device. */
  readonly deviceId: string | null
  readonly progress: number | null
}

// Bytes of interrupted requests count too, so only delivery proves the end.
const updateTouched = statement<Moment & { readonly progress: readonly DownloadProgress[] }, Touched>((param) => {
  const { requested, downloaded } = progressAt
  return sql`
    with said as materialized (select * from ${rowsAs('said', progressColumns, param('progress'))}),
    open as materialized (
      select own.org_id, own.command_id, said.bytes, said.last
      from said
      join firmware_download own on own.org_id = said.org_id and own.command_id = said.command_id
      where own.fenced_at is null
      order by own.command_id for update of own skip locked
    ), served as (
      update firmware_download own set touched_at = ${param('at')}::timestamptz, touched_ms = ${param('atMs')}::float8,
        bytes_served = own.bytes_served + open.bytes::bigint,
        delivered_at = case when open.last then coalesce(own.delivered_at, ${param('at')}::timestamptz) else own.delivered_at end
      from open where own.org_id = open.org_id and own.command_id = open.command_id
      returning own.*
    )
    select said.org_id, said.command_id, command.device_id,
      case when served.command_id is not null then 'going'
        when seen.command_id is null or seen.fenced_at is not null then 'fenced'
        else 'locked' end as state,
      case when served.delivered_at is not null then ${sql.lit(downloaded)}
        else least(${sql.lit(downloaded - 1)},
          ${sql.lit(requested)} + (${sql.lit(downloaded - requested)} * served.bytes_served / image.size_bytes)::integer)
        end as progress
    from said
    left join firmware_download seen on seen.org_id = said.org_id and seen.command_id = said.command_id
    left join served on served.org_id = said.org_id and served.command_id = said.command_id
    left join firmware_image image on image.org_id = served.org_id and image.id = served.image_id
    left join device_command command on command.org_id = served.org_id and command.id = served.command_id
  `
})

/**
 * Records progress, and displays it. With `last`, this is the write that decides between delivery and fence: the row's
 * lock orders the two, and whichever commits first excludes the other.
 * @param progress Of distinct commands.
 * @returns The state of each download by its command. `unshown`: it is going and recorded, but the display of its device is
 *   locked; ask again with 0 bytes.
 */
export async function touchDownloads(
  tx: Tx,
  progress: readonly DownloadProgress[],
  moment: Moment,
): Promise<Map<string, RecordState | 'unshown'>> {
  const touched = await updateTouched(tx, { progress, ...moment })
  const shown = touched.flatMap(({ orgId, state, deviceId, progress: reached }) =>
    state !== 'going' || deviceId === null || reached === null ? [] : [{ orgId, deviceId, progress: reached }],
  )
  const unshown = await raiseProgress(tx, shown, moment.at)
  return new Map(
    touched.map(({ commandId, deviceId, state }) => [
      commandId,
      state === 'going' && deviceId !== null && unshown.has(deviceId) ? 'unshown' : state,
    ]),
  )
}
