import type { OrgScope } from '../../access/scope.ts'
import { appendAudit, appendDeviceEvents } from '../../events/append.ts'
import type { Tx } from '../../platform/database/db.ts'
import { lockActiveDevices } from '../commands/store-upgrades.ts'
import { describeMacs, onlyOf } from './named-devices.ts'
import { deviceIdOf, newClaimCode } from '../device.ts'
import { type ChangeReport, type DeviceNames, plainNames, selectDevices } from './select-devices.ts'
import { type Device, deleteDevices, deviceOfEvent, lockDevicesBy } from '../store.ts'
import { clearOwner, lockRegistry, updateClaimCodes } from '../registry/store.ts'

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
  await lockRegistry(tx, scope, { deviceIds: plain.macs.map(deviceIdOf), serials: plain.serials })
  const { found, refused } = selectDevices(names, await lockDevicesBy(tx, scope, plain))
  const busy = await lockActiveDevices(
    tx,
    scope,
    found.map(({ device }) => device.id),
  )
  const free = found.filter(({ device }) => !busy.has(device.id))
  if (free.length > 0) await remove(tx, scope, { devices: free.map(({ device }) => device), at })
  const occupied = found.filter(({ device }) => busy.has(device.id))
  return {
    success: free.map(({ name }) => name),
    refused: [...refused, ...occupied.map(({ name }) => ({ name, reason: 'in a running upgrade' }))],
  }
}

async function remove(
  tx: Tx,
  scope: OrgScope,
  { devices, at }: { readonly devices: readonly Device[]; readonly at: Date },
): Promise<void> {
  const ids = devices.map(({ id }) => id)
  const macs = devices.map(({ mac }) => mac)
  await deleteDevices(tx, scope, ids)
  const released = await clearOwner(tx, scope, ids)
  // These rows, not those of lockRegistry(): a device that was claimed after it is released as well.
  const generated = released.filter(({ codeOrigin }) => codeOrigin === 'generated')
  await updateClaimCodes(
    tx,
    generated.map(({ id }) => ({ id, claimCode: newClaimCode() })),
  )
  const auditId = await appendAudit(tx, scope, {
    message: `Unclaim ${describeMacs(macs)}`,
    deviceId: onlyOf(ids),
    before: { macs },
    at,
  })
  const deviceEvents = devices.map((device) => ({ device: deviceOfEvent(device), what: 'UNCLAIMED' as const, auditId }))
  await appendDeviceEvents(tx, scope, deviceEvents, at)
}
