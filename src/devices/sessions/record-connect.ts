import { systemScope } from '../../access/scope.ts'
import { type DeviceEventInput, appendDeviceEvents } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { decideConnect, provesBoot } from './decide-connect.ts'
import { type DeviceFacts, deviceIdOf } from '../device.ts'
import { eventDevice, groupByOrg } from './event-device.ts'
import { listRevokedMacs } from '../certificates/store.ts'
import { recordRouterRenewed } from '../routers/renew-certificate.ts'
import { isKeyOf, listRouterKeys } from '../routers/store.ts'
import { appendCompletedRestores, recordCommandsLost } from '../commands/append-ended.ts'
import { skipLocked } from './skip-locked.ts'
import { deleteOutages } from './store-outages.ts'
import {
  type ClaimedStatus,
  type ConnectedStatus,
  type OpenedSession,
  type SessionOpening,
  listClaimedStatuses,
  lockClaimedStatuses,
  openSessions,
  updateConnectedStatuses,
} from './store.ts'
import { listOwners, registerDevices } from './store-registered.ts'
import { noteStats } from '../stats/note-stats.ts'

/** Each device of a batch is in one of these, or may not connect. */
export interface RecordedConnects {
  /** In any order. */
  readonly opened: readonly OpenedSession[]
  /** The ids of devices that another transaction is changing. Nothing is recorded of them. */
  readonly lockedIds: ReadonlySet<string>
}

/**
 * Opens the sessions of devices that connected at about the same time, in one transaction: after an outage a whole
 * fleet connects within seconds. It belongs to several organizations, so it does not wait for the transaction of one of
 * them: the devices that this changes are left out.
 * @param openings Distinct devices, in any order. None is opened for a device of another organization than its link has
 *   proved, or with a revoked certificate.
 * @param isRepeated True if one of the devices was locked before.
 */
export async function recordConnects(
  ctx: Context,
  nodeId: string,
  openings: readonly SessionOpening[],
  isRepeated = false,
): Promise<RecordedConnects> {
  const ordered = openings.toSorted((a, b) => (a.mac < b.mac ? -1 : 1))
  const deviceIds = ordered.map(({ mac }) => deviceIdOf(mac))
  const { done, lockedIds } = await skipLocked(ctx, { deviceIds, isRepeated }, (tx, locked) =>
    recordIn(tx, { ctx, nodeId, ordered: ordered.filter(({ mac }) => !locked.has(deviceIdOf(mac))) }),
  )
  return { opened: done ?? [], lockedIds }
}

interface Batch {
  readonly ctx: Context
  readonly nodeId: string
  /** In ascending order of MAC. */
  readonly ordered: readonly SessionOpening[]
}

async function recordIn(tx: Tx, { ctx, nodeId, ordered }: Batch): Promise<OpenedSession[]> {
  const at = ctx.clock.now()
  const atMs = ctx.serviceClock.nowMs()
  await registerDevices(tx, ordered, at)
  const proven = await withoutRevoked(tx, await withoutForeign(tx, ordered))
  const allowed = await withoutImpostors(tx, proven, at)
  const opened = await openSessions(tx, nodeId, { openings: allowed, at, atMs })
  await recordCommandsLost(tx, opened, { at, why: 'connection_lost' })
  const epochs = new Map(opened.map(({ deviceId, epoch }) => [deviceId, epoch]))
  const sessions = allowed.flatMap(({ mac, facts }) => {
    const epoch = epochs.get(deviceIdOf(mac))
    return epoch === undefined ? [] : [{ deviceId: deviceIdOf(mac), epoch, connectedAt: at, connectedMs: atMs, facts }]
  })
  await applyConnections(tx, sessions, at)
  return opened
}

/** Drops the openings that prove an organization which is not the owner of the device. */
async function withoutForeign(tx: Tx, openings: readonly SessionOpening[]): Promise<readonly SessionOpening[]> {
  const proving = openings.filter(({ orgId = null }) => orgId !== null)
  if (proving.length === 0) return openings
  const owners = await listOwners(
    tx,
    proving.map(({ mac }) => deviceIdOf(mac)),
  )
  return openings.filter(({ mac, orgId = null }) => {
    const owner = owners.get(deviceIdOf(mac)) ?? null
    return orgId === null || owner === null || owner === orgId
  })
}

/** Drops the openings by certificates that are revoked. */
async function withoutRevoked(tx: Tx, openings: readonly SessionOpening[]): Promise<readonly SessionOpening[]> {
  const shown = openings.flatMap(({ mac, certificateSerial: serial }) =>
    serial === undefined ? [] : [{ mac, serial }],
  )
  const revoked = await listRevokedMacs(tx, shown)
  return openings.filter(({ mac }) => !revoked.has(mac))
}

/**
 * Drops sessions that name a registered SSR router without its key, by whatever protocol, and those with a key that no
 * longer belongs to a router. A router that connects with the key of its renewed certificate ends its former key.
 */
async function withoutImpostors(
  tx: Tx,
  openings: readonly SessionOpening[],
  at: Date,
): Promise<readonly SessionOpening[]> {
  const registered = await listRouterKeys(
    tx,
    openings.map(({ mac }) => deviceIdOf(mac)),
  )
  const keys = new Map(registered.map((key) => [key.deviceId, key]))
  const allowed = openings.filter(({ mac, routerKey }) => {
    const key = keys.get(deviceIdOf(mac))
    return key === undefined ? routerKey === undefined : isKeyOf(key, routerKey)
  })
  for (const { mac, routerKey } of allowed) {
    const key = keys.get(deviceIdOf(mac))
    if (key !== undefined && routerKey === key.renewalKeySha256) await recordRouterRenewed(tx, { ...key, mac }, at)
  }
  return allowed
}

/** A session as its device opened it. */
export interface Connection {
  readonly deviceId: string
  readonly epoch: string
  readonly connectedAt: Date
  /** In service time. */
  readonly connectedMs: number
  readonly facts: DeviceFacts
}

/** Updates the status of the claimed devices and appends their events; unclaimed devices have neither. */
export async function applyConnections(tx: Tx, connections: readonly Connection[], at: Date): Promise<void> {
  const known = await updateStatuses(tx, connections)
  if (known.length === 0) return
  // Statuses are locked before outages.
  const untold = await deleteOutages(tx, known)
  const byDevice = new Map(connections.map((connection) => [connection.deviceId, connection]))
  for (const [orgId, some] of groupByOrg(known)) {
    const deviceEvents = some.flatMap((status) => {
      const connection = byDevice.get(status.deviceId)
      return connection === undefined ? [] : eventsOf(status, connection, untold.has(status.deviceId))
    })
    await appendDeviceEvents(tx, systemScope('gateway', orgId), deviceEvents, at)
  }
  await appendCompletedRestores(
    tx,
    known.map(({ deviceId }) => deviceId),
    at,
  )
  noteStats(tx, known)
  wakeAfterCommit(tx, 'commands')
  wakeAfterCommit(
    tx,
    'rollouts',
    known.map(({ deviceId }) => deviceId),
  )
}

/**
 * Updates the statuses of the claimed devices. They are read without a lock first, which would be written; only those that
 * another transaction has changed meanwhile are locked and read again.
 * @returns The statuses as they were.
 */
async function updateStatuses(tx: Tx, connections: readonly Connection[]): Promise<ClaimedStatus[]> {
  const byDevice = new Map(connections.map((connection) => [connection.deviceId, connection]))
  const update = (statuses: readonly ClaimedStatus[], isLocked: boolean): Promise<Set<string>> =>
    updateConnectedStatuses(
      tx,
      statuses.flatMap((status) => {
        const connection = byDevice.get(status.deviceId)
        return connection === undefined ? [] : [connectedStatus(status, connection, isLocked)]
      }),
    )
  const read = await listClaimedStatuses(tx, [...byDevice.keys()])
  const updated = await update(read, false)
  if (updated.size === read.length) return read
  const changed = read.flatMap(({ deviceId }) => (updated.has(deviceId) ? [] : [deviceId]))
  const locked = await lockClaimedStatuses(tx, changed)
  await update(locked, true)
  return [...read.filter(({ deviceId }) => updated.has(deviceId)), ...locked]
}

function connectedStatus(
  known: ClaimedStatus,
  { epoch, connectedAt, connectedMs, facts }: Connection,
  isLocked: boolean,
): ConnectedStatus {
  const booted = provesBoot(known, facts)
  return {
    orgId: known.orgId,
    deviceId: known.deviceId,
    epoch,
    connectedAt,
    connectedMs,
    facts,
    bootCount: known.bootCount + (booted ? 1 : 0),
    bootedAt: booted ? connectedAt : known.bootedAt,
    bootKnownMs: booted ? connectedMs : (known.bootKnownMs ?? connectedMs),
    booted,
    writtenBy: isLocked ? null : known.writtenBy,
  }
}

function eventsOf(known: ClaimedStatus, { facts }: Connection, outageUnreported: boolean): DeviceEventInput[] {
  const { cameUp, restarted } = decideConnect({ ...known, outageUnreported }, facts)
  const device = eventDevice({ ...known, firmware: facts.firmware })
  const { reason } = facts
  return [
    ...(restarted ? [{ device, what: 'RESTARTED' as const, ...(reason !== null && { reason }) }] : []),
    ...(cameUp ? [{ device, what: 'CONNECTED' as const }] : []),
  ]
}
