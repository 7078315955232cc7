import type { OrgScope } from '../../access/scope.ts'
import { appendAudit, appendDeviceEvents } from '../../events/append.ts'
import type { Tx } from '../../platform/database/db.ts'
import { listActiveDevices } from '../commands/store-upgrades.ts'
import { countOf, onlyOf } from './claim-devices.ts'
import { deviceIdOf, newClaimCode } from '../device.ts'
import { type ChangeReport, type DeviceNames, plainNames, selectDevices } from './select-devices.ts'
import { type Device, deleteDevices, deviceOfEvent, lockDevicesBy } from '../store.ts'
import { type RegisteredDevice, clearOwner, lockRegistry, updateClaimCodes } from '../registry/store.ts'

/**
 * Releases devices from the organization: anyone with their claim code may claim them next. A code that the service has
 * generated is renewed, so that nobody who has read it in the organization can claim the device again; a printed one
 * stays valid. A device in a running upgrade is refused, because its upgrade would never end.
 */
export async function unclaimDevices(
  tx: Tx,
  scope: OrgScope,
  { names, at }: { readonly names: DeviceNames; readonly at: Date },
): Promise<ChangeReport> {
  const plain = plainNames(names)
  // Connecting devices lock the registry first, then the device; so does this.
  const registered = await lockRegistry(tx, scope, { deviceIds: plain.macs.map(deviceIdOf), serials: plain.serials })
  const { found, refused } = selectDevices(names, await lockDevicesBy(tx, scope, plain))
  const busy = await listActiveDevices(
    tx,
    scope,
    found.map(({ device }) => device.id),
  )
  const free = found.filter(({ device }) => !busy.has(device.id))
  if (free.length > 0) await remove(tx, scope, { devices: free.map(({ device }) => device), registered, at })
  const occupied = found.filter(({ device }) => busy.has(device.id))
  return {
    success: free.map(({ name }) => name),
    refused: [...refused, ...occupied.map(({ name }) => ({ name, reason: 'in a running upgrade' }))],
  }
}

interface Removal {
  readonly devices: readonly Device[]
  /** The registry's rows of these devices, and perhaps of others. */
  readonly registered: readonly Pick<RegisteredDevice, 'id' | 'codeOrigin'>[]
  readonly at: Date
}

async function remove(tx: Tx, scope: OrgScope, { devices, registered, at }: Removal): Promise<void> {
  const ids = devices.map(({ id }) => id)
  const macs = devices.map(({ mac }) => mac)
  await deleteDevices(tx, scope, ids)
  await clearOwner(tx, scope, ids)
  const removed = new Set(ids)
  const generated = registered.filter(({ id, codeOrigin }) => codeOrigin === 'generated' && removed.has(id))
  await updateClaimCodes(
    tx,
    generated.map(({ id }) => ({ id, claimCode: newClaimCode() })),
  )
  const auditId = await appendAudit(tx, scope, {
    message: `Unclaim ${countOf(macs)}`,
    deviceId: onlyOf(ids),
    before: { macs },
    at,
  })
  const deviceEvents = devices.map((device) => ({ device: deviceOfEvent(device), what: 'UNCLAIMED' as const, auditId }))
  await appendDeviceEvents(tx, scope, deviceEvents, at)
}
