import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, insertRows, rowsAs, rowsUpdate } from '../../platform/database/rows.ts'
import { splitRows } from '../../platform/database/split.ts'
import { type Param, statement } from '../../platform/database/statement.ts'
import type { DeviceType } from '../../events/device-type.ts'
import { type DeviceFacts, deviceIdOf } from '../device.ts'

/** A device that connects. */
export interface SessionOpening {
  readonly mac: string
  /** The protocol of the device. */
  readonly family: string
  /** The organization whose credentials it proved; absent or null if it proved its own identity. */
  readonly orgId?: string | null
  /** SHA-256 of the key that an SSR router has proved; absent for other devices. */
  readonly routerKey?: string
  /** The serial number of its client certificate: see plainSerial(). Absent for devices that prove a key. */
  readonly certificateSerial?: string
  readonly certificateExpiresAt?: Date
  readonly facts: DeviceFacts
}

export interface OpenedSession {
  readonly deviceId: string
  /** Higher than that of every earlier session of the device. */
  readonly epoch: string
}

const sessionColumns = columnsOf('deviceSession', {
  deviceId: 'uuid',
  nodeId: 'uuid',
  family: 'text',
  epoch: 'bigint',
  connected: 'boolean',
  connectedAt: 'timestamptz',
  connectedMs: 'float8',
  firmware: 'text',
  reason: 'text',
  bootId: 'text',
  facts: 'jsonb',
  orgId: 'uuid',
  certificateExpiresAt: 'timestamptz',
})

/**
 * The newest connection of a device owns its session. A device that connects while its session is open has lost the
 * older connection. The caller has locked the devices in the registry, so that no other transaction opens theirs.
 */
export async function openSessions(
  tx: Tx,
  nodeId: string,
  { openings, at, atMs }: { openings: readonly SessionOpening[]; at: Date; atMs: number },
): Promise<OpenedSession[]> {
  const rows = openings.map(({ mac, family, orgId = null, certificateExpiresAt = null, facts }) => {
    const opened = { nodeId, epoch: '1', connected: true, connectedAt: at, connectedMs: atMs }
    const { firmware, reason, boot_id: bootId = null, ...others } = facts
    const said = { firmware, reason, bootId, facts: others }
    return { deviceId: deviceIdOf(mac), family, orgId, certificateExpiresAt, ...said, ...opened }
  })
  // Nearly every device has had a session. An upsert would lock each row before it changes it.
  const reopened: OpenedSession[] = []
  for (const part of splitRows(rows)) reopened.push(...(await reopenSessions(tx, { rows: part })))
  if (reopened.length === rows.length) return reopened
  const known = new Set(reopened.map(({ deviceId }) => deviceId))
  const others = rows.filter(({ deviceId }) => !known.has(deviceId))
  return [...reopened, ...(await insertRows(tx, sessionColumns, others, { tail: returningOpened }))]
}

const returningOpened = sql<OpenedSession>`returning device_id, epoch`

const reopenSessions = statement<{ readonly rows: readonly RowOf<typeof sessionColumns>[] }, OpenedSession>(
  (param) => sql`
    update device_session session set node_id = opened.node_id, family = opened.family, epoch = session.epoch + 1,
      connected = true, connected_at = opened.connected_at, connected_ms = opened.connected_ms, lost_at = null,
      firmware = opened.firmware, reason = opened.reason, boot_id = opened.boot_id, facts = opened.facts, org_id = opened.org_id, certificate_expires_at = opened.certificate_expires_at,
      disconnected_ms = case when session.connected then opened.connected_ms else session.disconnected_ms end,
      returned_ms = case when session.lost_at is null then opened.connected_ms else session.returned_ms end
    from ${rowsAs('opened', sessionColumns, param('rows'))}
    where session.device_id = opened.device_id
    returning session.device_id, session.epoch
  `,
)

/** A claimed device with its status, and with the fields that its events contain. */
export interface ClaimedStatus {
  readonly orgId: string
  readonly deviceId: string
  readonly mac: string
  readonly type: DeviceType
  readonly name: string | null
  readonly siteId: string | null
  readonly siteName: string | null
  readonly connected: boolean
  readonly epoch: string
  readonly load: Readonly<Record<string, unknown>> | null
  readonly connectedAt: Date | null
  /** That in service time. */
  readonly connectedMs: number | null
  readonly firmware: string | null
  readonly bootCount: number
  readonly bootedAt: Date | null
  readonly bootKnownMs: number | null
  readonly bootId: string | null
  /** The transaction that wrote the status last. */
  readonly writtenBy: string
}

/** Locks the status rows of the claimed devices, and inserts missing ones. */
export function lockClaimedStatuses(tx: Tx, deviceIds: readonly string[]): Promise<ClaimedStatus[]> {
  return claimedStatuses(tx, deviceIds, lockKnown)
}

/** Does the same as lockClaimedStatuses(), but without locks; see updateConnectedStatuses(). */
export function listClaimedStatuses(tx: Tx, deviceIds: readonly string[]): Promise<ClaimedStatus[]> {
  return claimedStatuses(tx, deviceIds, listKnown)
}

async function claimedStatuses(
  tx: Tx,
  deviceIds: readonly string[],
  read: (tx: Tx, values: DeviceIds) => Promise<ClaimedStatus[]>,
): Promise<ClaimedStatus[]> {
  const known = await read(tx, { deviceIds })
  // Nearly every device has been connected before.
  if (known.length === new Set(deviceIds).size) return known
  const found = new Set(known.map(({ deviceId }) => deviceId))
  const others = deviceIds.filter((deviceId) => !found.has(deviceId))
  // Another transaction may have inserted a row since.
  const claimed = await sql`
    with claimed as materialized (select org_id, id from device where id = ${anyOf(others)} order by id), inserted as (
      insert into device_status (org_id, device_id) select org_id, id from claimed order by id
      on conflict (org_id, device_id) do nothing)
    select id from claimed
  `.execute(tx)
  return claimed.rows.length === 0 ? known : read(tx, { deviceIds })
}

const knownStatuses = (deviceIds: Param<DeviceIds, readonly string[]>): RawBuilder<ClaimedStatus> => sql`
    select status.org_id, status.device_id, device.mac, device.type, device.name, device.site_id, site.name as site_name,
      status.connected, status.connected_at, status.connected_ms, status.firmware, status.boot_count, status.booted_at,
      status.boot_known_ms, status.boot_id, status.epoch, status.load, status.xmin::text as written_by
    from device_status status
    join device on device.org_id = status.org_id and device.id = status.device_id
    left join site on site.org_id = device.org_id and site.id = device.site_id
    where device.id = any(${deviceIds})
    order by device.id`

interface DeviceIds {
  readonly deviceIds: readonly string[]
}

const listKnown = statement<DeviceIds, ClaimedStatus>((param) => knownStatuses(param('deviceIds')))
const lockKnown = statement<DeviceIds, ClaimedStatus>(
  (param) => sql`${knownStatuses(param('deviceIds'))} for update of status`,
)

/** Returns the organization that has claimed the device. */
export async function findOwner(reader: Reader, deviceId: string): Promise<string | undefined> {
  const row = await reader.selectFrom('device').select('orgId').where('id', '=', deviceId).executeTakeFirst()
  return row?.orgId
}

/** The changes that a connection makes to the status of a claimed device. */
export interface ConnectedStatus {
  readonly orgId: string
  readonly deviceId: string
  readonly epoch: string
  readonly connectedAt: Date
  readonly connectedMs: number
  readonly facts: DeviceFacts
  readonly bootCount: number
  readonly bootedAt: Date | null
  readonly bootKnownMs: number
  /**
   * True clears the load, which came from another boot, so that uptimes of two boots are never compared. The address stays:
   * it is nearly always the same, and two changes of it are twenty entries of an index for searches by parts.
   */
  readonly booted: boolean
  /** As the status was read; null: `tx` has locked it. */
  readonly writtenBy: string | null
}

const statusColumns = columnsOf(
  'deviceStatus',
  {
    orgId: 'uuid',
    deviceId: 'uuid',
    epoch: 'bigint',
    connectedAt: 'timestamptz',
    connectedMs: 'float8',
    firmware: 'text',
    extIp: 'text',
    capabilities: 'jsonb',
    members: 'jsonb',
    bootCount: 'integer',
    bootedAt: 'timestamptz',
    bootKnownMs: 'float8',
    bootId: 'text',
  },
  { booted: 'boolean', writtenBy: 'text' },
)

const updateConnected = rowsUpdate<RowOf<typeof statusColumns>, {}, { deviceId: string }>(statusColumns, () => ({
  key: ['orgId', 'deviceId'],
  set: sql`connected = true, last_seen_at = greatest(device_status.last_seen_at, new.connected_at),
    load = case when not new.booted then device_status.load
      when device_status.load ? 'ip' then jsonb_build_object('ip', device_status.load -> 'ip') end`,
  where: sql`device_status.epoch < new.epoch
    and (new.written_by is null or device_status.xmin::text = new.written_by)`,
  returning: sql`device_status.device_id`,
}))

/**
 * Updates statuses that `tx` has locked, or that no other transaction has changed since it read them. It locks the latter in
 * one order only in a transaction by keys.
 * @param statuses In ascending order of the device.
 * @returns The ids of the devices whose statuses are updated.
 */
export async function updateConnectedStatuses(tx: Tx, statuses: readonly ConnectedStatus[]): Promise<Set<string>> {
  const rows = statuses.map(({ facts, ...status }) => {
    const { firmware, capabilities, members, boot_id: bootId = null, ext_ip: extIp } = facts
    return { ...status, firmware, capabilities, members, bootId, extIp }
  })
  const updated = await updateConnected(tx, rows, {})
  return new Set(updated.map(({ deviceId }) => deviceId))
}

/** Lists the present sessions of devices, with the facts of their connects. */
export async function listOpenSessions(
  tx: Tx,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<{ deviceId: string; epoch: string; connectedAt: Date; connectedMs: number; facts: DeviceFacts }[]> {
  return (
    tx
      .selectFrom('deviceSession as session')
      .innerJoin('device', 'device.id', 'session.deviceId')
      .select(['session.deviceId', 'session.epoch', 'session.connectedAt', 'session.connectedMs'])
      .select(
        sql<DeviceFacts>`session.facts || jsonb_build_object('firmware', session.firmware, 'reason', session.reason)
          || case when session.boot_id is null then '{}' else jsonb_build_object('boot_id', session.boot_id) end`.as(
          'facts',
        ),
      )
      .where('device.orgId', '=', scope.orgId)
      .where('session.deviceId', '=', anyOf(deviceIds))
      .where('session.connected', '=', true)
      // Excludes sessions that proved another organization: they belong to another tenant's device.
      .where((eb) => eb.or([eb('session.orgId', 'is', null), eb('session.orgId', '=', scope.orgId)]))
      .execute()
  )
}

/** Returns the reasons of the last boots in the devices' words, for devices that gave one when they connected. */
export async function listConnectReasons(tx: Tx, deviceIds: readonly string[]): Promise<Map<string, string | null>> {
  const rows = await tx
    .selectFrom('deviceSession')
    .select(['deviceId', 'reason'])
    .where('deviceId', '=', anyOf(deviceIds))
    .execute()
  return new Map(rows.map(({ deviceId, reason }) => [deviceId, reason]))
}

export interface SessionKey {
  readonly deviceId: string
  readonly epoch: string
}

const keyColumns = columnsOf('deviceSession', { deviceId: 'uuid', epoch: 'bigint' })

/**
 * Closes the given sessions that are still the newest of their device, and returns them.
 * @param keys In ascending order of the device: all callers lock in one order, to prevent deadlocks with devices that
 *   reconnect.
 */
export async function closeSessions(tx: Tx, keys: readonly SessionKey[], atMs: number): Promise<SessionKey[]> {
  return updateClosed(tx, { keys, atMs })
}

const updateClosed = statement<{ readonly keys: readonly SessionKey[]; readonly atMs: number }, SessionKey>(
  (param) => sql`
    update device_session session set connected = false, disconnected_ms = ${param('atMs')}
    from ${rowsAs('closed', keyColumns, param('keys'))}
    where session.device_id = closed.device_id and session.epoch = closed.epoch and session.connected
    returning session.device_id, session.epoch
  `,
)

/** Returns those of the sessions that a newer connection of the device, perhaps on another node, has replaced. */
export async function findSuperseded(reader: Reader, keys: readonly SessionKey[]): Promise<SessionKey[]> {
  const found = await sql<SessionKey>`
    select mine.device_id, mine.epoch
    from ${rowsAs('mine', keyColumns, keys)}
    join device_session session on session.device_id = mine.device_id
    where session.epoch <> mine.epoch or not session.connected
  `.execute(reader)
  return found.rows
}

/**
 * Marks the claimed devices that are up as down, and returns them as they were. It locks their statuses in one order only
 * in a transaction by keys.
 */
export async function updateDisconnectedStatuses(
  tx: Tx,
  deviceIds: readonly string[],
  at: Date,
): Promise<ClaimedStatus[]> {
  return updateDisconnected(tx, { deviceIds, at })
}

const updateDisconnected = statement<{ readonly deviceIds: readonly string[]; readonly at: Date }, ClaimedStatus>(
  (param) => sql`
    update device_status status set connected = false, disconnected_at = ${param('at')}
    from (
      select org_id, id, mac, type, name, site_id,
        (select name from site where site.org_id = device.org_id and site.id = device.site_id) as site_name
      from device where id = any(${param('deviceIds')}) order by id offset 0
    ) device
    where status.org_id = device.org_id and status.device_id = device.id and status.connected
    returning status.org_id, status.device_id, device.mac, device.type, device.name, device.site_id, device.site_name,
      true as connected, status.connected_at, status.connected_ms, status.firmware, status.boot_count, status.booted_at,
      status.boot_known_ms, status.boot_id, status.epoch, status.load, status.xmin::text as written_by
  `,
)
