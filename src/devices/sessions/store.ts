import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf } from '../../platform/db.ts'
import { columnsOf, insertRows, rowsAs, updateRows } from '../../platform/rows.ts'
import type { DeviceType } from '../../events/device-type.ts'
import { type DeviceFacts, deviceIdOf, newClaimCode } from '../device.ts'

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

const registryColumns = columnsOf('deviceRegistry', {
  id: 'uuid',
  mac: 'text',
  serial: 'text',
  model: 'text',
  type: 'text',
  claimCode: 'text',
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
    every: { createdAt: at, lastSeenAt: at },
    tail: sql`on conflict (id) do update set firmware = excluded.firmware, last_seen_at = excluded.last_seen_at`,
  })
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
  facts: 'jsonb',
  orgId: 'uuid',
  certificateExpiresAt: 'timestamptz',
})

/**
 * Compare-and-set: the newest connection of a device owns its session. A device that connects while its session is open
 * has lost the older connection.
 */
export async function openSessions(
  tx: Tx,
  nodeId: string,
  { openings, at, atMs }: { openings: readonly SessionOpening[]; at: Date; atMs: number },
): Promise<OpenedSession[]> {
  const rows = openings.map(({ mac, family, orgId = null, certificateExpiresAt = null, facts }) => ({
    deviceId: deviceIdOf(mac),
    family,
    orgId,
    certificateExpiresAt,
    facts,
  }))
  return insertRows(tx, sessionColumns, rows, {
    every: { nodeId, epoch: '1', connected: true, connectedAt: at, connectedMs: atMs },
    tail: sql<OpenedSession>`
      on conflict (device_id) do update set node_id = excluded.node_id, family = excluded.family,
        epoch = device_session.epoch + 1, connected = true, connected_at = excluded.connected_at,
        connected_ms = excluded.connected_ms, lost_at = null, facts = excluded.facts, org_id = excluded.org_id,
        certificate_expires_at = excluded.certificate_expires_at,
        disconnected_ms = case when device_session.connected then excluded.connected_ms
          else device_session.disconnected_ms end
      returning device_id, epoch`,
  })
}

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
  readonly firmware: string | null
  readonly bootCount: number
  readonly bootedAt: Date | null
  readonly bootKnownMs: number | null
  readonly bootId: string | null
}

/** Locks the status rows of the claimed devices, and inserts missing ones. */
export async function lockClaimedStatuses(tx: Tx, deviceIds: readonly string[]): Promise<ClaimedStatus[]> {
  await sql`
    insert into device_status (org_id, device_id)
    select org_id, id from device where id = any(${deviceIds}) order by id
    on conflict (org_id, device_id) do nothing
  `.execute(tx)
  return tx
    .selectFrom('deviceStatus as status')
    .innerJoin('device', (join) =>
      join.onRef('device.orgId', '=', 'status.orgId').onRef('device.id', '=', 'status.deviceId'),
    )
    .leftJoin('site', (join) => join.onRef('site.orgId', '=', 'device.orgId').onRef('site.id', '=', 'device.siteId'))
    .select([
      'status.orgId',
      'status.deviceId',
      'device.mac',
      'device.type',
      'device.name',
      'device.siteId',
      'site.name as siteName',
      'status.connected',
      'status.connectedAt',
      'status.firmware',
      'status.bootCount',
      'status.bootedAt',
      'status.bootKnownMs',
      'status.bootId',
      'status.epoch',
      'status.load',
    ])
    .where('device.id', '=', anyOf(deviceIds))
    .orderBy('device.id')
    .forUpdate('status')
    .execute()
}

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
  readonly facts: DeviceFacts
  readonly bootCount: number
  readonly bootedAt: Date | null
  readonly bootKnownMs: number
  /** True clears the load, which came from another boot, so that uptimes of two boots are never compared. */
  readonly booted: boolean
}

const statusColumns = columnsOf(
  'deviceStatus',
  {
    orgId: 'uuid',
    deviceId: 'uuid',
    epoch: 'bigint',
    connectedAt: 'timestamptz',
    firmware: 'text',
    extIp: 'text',
    capabilities: 'jsonb',
    members: 'jsonb',
    bootCount: 'integer',
    bootedAt: 'timestamptz',
    bootKnownMs: 'float8',
    bootId: 'text',
  },
  { booted: 'boolean' },
)

export async function updateConnectedStatuses(tx: Tx, statuses: readonly ConnectedStatus[]): Promise<void> {
  const rows = statuses.map(({ facts, ...status }) => {
    const { firmware, capabilities, members, boot_id: bootId = null, ext_ip: extIp } = facts
    return { ...status, firmware, capabilities, members, bootId, extIp }
  })
  await updateRows(tx, statusColumns, rows, {
    key: ['orgId', 'deviceId'],
    set: sql`connected = true, last_seen_at = greatest(device_status.last_seen_at, new.connected_at),
      load = case when new.booted then null else device_status.load end`,
    where: sql`device_status.epoch < new.epoch`,
  })
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
      .select(['session.deviceId', 'session.epoch', 'session.connectedAt', 'session.connectedMs', 'session.facts'])
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
    .select(['deviceId', 'facts'])
    .where('deviceId', '=', anyOf(deviceIds))
    .execute()
  return new Map(rows.map(({ deviceId, facts }) => [deviceId, facts.reason]))
}

export interface SessionKey {
  readonly deviceId: string
  readonly epoch: string
}

const keyColumns = columnsOf('deviceSession', { deviceId: 'uuid', epoch: 'bigint' })

/**
 * Closes the given sessions that are still the newest of their device, and returns them. They are locked in the order
 * of their devices, as in a connect, to prevent deadlocks with devices that reconnect.
 */
export async function closeSessions(tx: Tx, keys: readonly SessionKey[], atMs: number): Promise<SessionKey[]> {
  const closed = await sql<SessionKey>`
    with locked as materialized (
      select session.device_id
      from ${rowsAs('closed', keyColumns, keys)}
      join device_session session on session.device_id = closed.device_id and session.epoch = closed.epoch
      where session.connected order by session.device_id for update of session
    )
    update device_session session set connected = false, disconnected_ms = ${atMs}
    from locked where session.device_id = locked.device_id
    returning session.device_id, session.epoch
  `.execute(tx)
  return closed.rows
}

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

/** Marks devices as down, except those that have connected again since. */
export async function updateDisconnectedStatuses(tx: Tx, deviceIds: readonly string[], at: Date): Promise<void> {
  await tx
    .updateTable('deviceStatus')
    .set({ connected: false, disconnectedAt: at })
    .where('deviceId', '=', anyOf(deviceIds))
    .where('connected', '=', true)
    .execute()
}
