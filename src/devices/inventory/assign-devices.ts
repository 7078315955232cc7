import type { OrgScope } from '../../access/scope.ts'
import { appendAudit, appendDeviceEvents } from '../../events/append.ts'
import type { Tx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { describeMacs, onlyOf } from './named-devices.ts'
import { type ChangeReport, type DeviceNames, plainNames, selectDevices } from './select-devices.ts'
import { type Device, assignToSite, deviceOfEvent, shareSiteName, lockDevicesBy } from '../store.ts'

export interface AssignRequest {
  readonly names: DeviceNames
  readonly siteId: string
  /** Skips devices that belong to another site. */
  readonly noReassign: boolean
  /** Settings, in wire shape, that the devices take on. */
  readonly settings: Record<string, unknown>
}

/** The reason why a device is refused that `noReassign` protects. */
export const ELSEWHERE = 'already assigned to another site'

/** Assigns devices to a site of the organization. @throws AppError not_found for the site. */
export async function assignDevices(
  tx: Tx,
  scope: OrgScope,
  { names, siteId, noReassign, settings, at }: AssignRequest & { readonly at: Date },
): Promise<ChangeReport> {
  const siteName = await shareSiteName(tx, scope, siteId)
  if (siteName === undefined) throw notFound(siteId)
  const { found, refused } = selectDevices(names, await lockDevicesBy(tx, scope, plainNames(names)))
  const elsewhere = found.filter(({ device }) => noReassign && device.siteId !== null && device.siteId !== siteId)
  const accepted = found.filter((item) => !elsewhere.includes(item))
  await move(tx, scope, {
    devices: accepted.map(({ device }) => device).filter((device) => differs(device, siteId, settings)),
    to: { siteId, siteName },
    settings,
    at,
  })
  return {
    success: accepted.map(({ name }) => name),
    refused: [...refused, ...elsewhere.map(({ name }) => ({ name, reason: ELSEWHERE }))],
  }
}

/** Removes devices from their sites; they stay in the inventory. */
export async function unassignDevices(
  tx: Tx,
  scope: OrgScope,
  { names, at }: { readonly names: DeviceNames; readonly at: Date },
): Promise<ChangeReport> {
  const { found, refused } = selectDevices(names, await lockDevicesBy(tx, scope, plainNames(names)))
  const devices = found.map(({ device }) => device).filter(({ siteId }) => siteId !== null)
  await move(tx, scope, { devices, to: { siteId: null, siteName: null }, settings: {}, at })
  return { success: found.map(({ name }) => name), refused }
}

function differs(device: Device, siteId: string, settings: Record<string, unknown>): boolean {
  return device.siteId !== siteId || Object.entries(settings).some(([key, value]) => device.doc[key] !== value)
}

interface Move {
  readonly devices: readonly Device[]
  readonly to: { readonly siteId: string | null; readonly siteName: string | null }
  readonly settings: Record<string, unknown>
  readonly at: Date
}

async function move(tx: Tx, scope: OrgScope, { devices, to, settings, at }: Move): Promise<void> {
  if (devices.length === 0) return
  await assignToSite(tx, scope, { deviceIds: devices.map(({ id }) => id), siteId: to.siteId, settings, at })
  const macs = devices.map(({ mac }) => mac)
  const message =
    to.siteId === null ? `Unassign ${describeMacs(macs)}` : `Assign ${describeMacs(macs)} to site ${to.siteName}`
  const auditId = await appendAudit(tx, scope, {
    message,
    siteId: to.siteId,
    deviceId: onlyOf(devices)?.id,
    after: { macs, ...settings },
    at,
  })
  const moved = devices.filter(({ siteId }) => siteId !== to.siteId)
  const deviceEvents = moved.map((device) =>
    to.siteId === null
      ? // The event goes to the site that loses the device, because no other site would receive it.
        { device: deviceOfEvent(device), what: 'UNASSIGNED' as const, auditId }
      : { device: { ...deviceOfEvent(device), ...to }, what: 'ASSIGNED' as const, auditId },
  )
  await appendDeviceEvents(tx, scope, deviceEvents, at)
}
