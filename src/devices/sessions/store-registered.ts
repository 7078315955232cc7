import { sql } from 'kysely'
import { type Tx, anyOf } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, insertRows, rowsAs } from '../../platform/database/rows.ts'
import { splitRows } from '../../platform/database/split.ts'
import { statement } from '../../platform/database/statement.ts'
import { deviceIdOf, newClaimCode } from '../device.ts'
import type { SessionOpening } from './store.ts'

const registryColumns = columnsOf('deviceRegistry', {
  id: 'uuid',
  mac: 'text',
  serial: 'text',
  model: 'text',
  type: 'text',
  claimCode: 'text',
  codeOrigin: 'text',
  firmware: 'text',
  createdAt: 'timestamptz',
  lastSeenAt: 'timestamptz',
})

/**
 * Registers devices that connect; an unknown one gets a claim code and stays unclaimed. The rows stay locked until `tx`
 * ends, as a claim locks them too, so that connect and claim see each other.
 * @param openings Distinct devices, in ascending order of MAC: all callers lock in one order, to prevent deadlocks.
 */
export async function registerDevices(tx: Tx, openings: readonly SessionOpening[], at: Date): Promise<void> {
  if (openings.length === 0 || (await updateRegistered(tx, openings, at))) return
  const rows = openings.map(({ mac, facts }) => ({
    id: deviceIdOf(mac),
    mac,
    serial: facts.serial ?? mac,
    model: facts.model,
    type: facts.type,
    firmware: facts.firmware,
    claimCode: newClaimCode(),
  }))
  await insertRows(tx, registryColumns, rows, {
    every: { codeOrigin: 'generated' as const, createdAt: at, lastSeenAt: at },
    tail: sql`on conflict (id) do update set firmware = excluded.firmware, last_seen_at = excluded.last_seen_at`,
  })
}

const seenColumns = columnsOf('deviceRegistry', { id: 'uuid', firmware: 'text', lastSeenAt: 'timestamptz' })

interface SeenDevices {
  readonly rows: readonly RowOf<typeof seenColumns>[]
  readonly ids: readonly string[]
}

/** Updates none of the devices if one of them is unknown. */
const updateSeen = statement<SeenDevices, { updated: number }>(
  (param) => sql`
    with updated as (
      update device_registry set firmware = seen.firmware, last_seen_at = seen.last_seen_at
      from ${rowsAs('seen', seenColumns, param('rows'))}
      where device_registry.id = seen.id and not exists (
        select from unnest(${param('ids')}::uuid[]) as given (id)
        where not exists (select from device_registry known where known.id = given.id))
      returning device_registry.id
    ) select count(*)::integer as updated from updated
  `,
)

/**
 * Updates devices that are all registered, as nearly always: an upsert would lock each row before it changes it. With
 * an unknown one among them, the rest must be locked in the order of the upsert.
 * @returns True if they are updated.
 */
async function updateRegistered(tx: Tx, openings: readonly SessionOpening[], at: Date): Promise<boolean> {
  for (const part of splitRows(openings)) {
    const rows = part.map(({ mac, facts }) => ({ id: deviceIdOf(mac), firmware: facts.firmware, lastSeenAt: at }))
    const [{ updated } = { updated: 0 }] = await updateSeen(tx, { rows, ids: rows.map(({ id }) => id) })
    if (updated < rows.length) return false
  }
  return true
}

/** Returns the organizations that have claimed these devices, by device. The caller has locked the rows. */
export async function listOwners(tx: Tx, deviceIds: readonly string[]): Promise<Map<string, string | null>> {
  const rows = await tx
    .selectFrom('deviceRegistry')
    .select(['id', 'orgId'])
    .where('id', '=', anyOf(deviceIds))
    .execute()
  return new Map(rows.map(({ id, orgId }) => [id, orgId]))
}

/**
 * Locks what the start and the end of a session change: these devices in the registry, their sessions, commands in flight
 * and statuses. Devices of which another transaction has locked a part are skipped.
 * @returns The ids of the skipped ones.
 */
export async function lockUnlocked(tx: Tx, deviceIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with registered as materialized (
      select id from device_registry where id = any(${deviceIds}::uuid[]) order by id for update skip locked
    ), opened as materialized (
      select device_id from device_session
      where device_id = any(${deviceIds}::uuid[]) order by device_id for update skip locked
    ), sent as materialized (
      select id from device_command
      where device_id = any(${deviceIds}::uuid[]) and state = 'sent' order by id for update skip locked
    ), reported as materialized (
      select status.device_id from device_status status
      join device on device.org_id = status.org_id and device.id = status.device_id
      where device.id = any(${deviceIds}::uuid[]) order by device.id for update of status skip locked
    )
    select id from device_registry known where id = any(${deviceIds}::uuid[]) and (
      not exists (select from registered where registered.id = known.id)
      or exists (
        select from device_session session where session.device_id = known.id
          and not exists (select from opened where opened.device_id = known.id))
      or exists (
        select from device_command command where command.device_id = known.id and command.state = 'sent'
          and not exists (select from sent where sent.id = command.id))
      or exists (
        select from device join device_status status on status.org_id = device.org_id and status.device_id = device.id
        where device.id = known.id and not exists (select from reported where reported.device_id = known.id)))
  `.execute(tx)
  return rows.map(({ id }) => id)
}
