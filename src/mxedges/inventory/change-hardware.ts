import type { OrgScope } from '../../access/scope.ts'
import {
  ELSEWHERE,
  type AssignRequest,
  assignDevices,
  unassignDevices,
} from '../../devices/inventory/assign-devices.ts'
import {
  type ChangeReport,
  type DeviceNames,
  type Labeled,
  NOT_FOUND,
  type Selection,
  plainNames,
  selectDevices,
  settleUnknown,
} from '../../devices/inventory/select-devices.ts'
import { unclaimDevices } from '../../devices/inventory/unclaim-devices.ts'
import { lockDevicesBy, shareSiteName } from '../../devices/store.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { type ImageFiles, removeImage } from '../../platform/images/image-files.ts'
import { moveLocked } from './assign-mxedges.ts'
import { removeMxedge } from '../delete-mxedge.ts'
import { lockMxedgesBy } from '../store.ts'

/**
 * Assigns devices and edge appliances to a site of the organization, in one change. The settings are those of devices.
 * @throws AppError not_found for the site.
 */
export function assignHardware(ctx: Context, scope: OrgScope, request: AssignRequest): Promise<ChangeReport> {
  const at = ctx.clock.now()
  const { siteId, noReassign } = request
  return inTx(ctx, async (tx) => {
    const siteName = await shareSiteName(tx, scope, siteId)
    if (siteName === undefined) throw notFound(siteId)
    const devices = await assignDevices(tx, scope, { ...request, at })
    const { found, refused } = await lockOthers(tx, scope, { names: request.names, devices })
    const elsewhere = found.filter(({ device }) => noReassign && device.siteId !== null && device.siteId !== siteId)
    const accepted = found.filter((item) => !elsewhere.includes(item))
    const mxedges = accepted.map(({ device }) => device)
    await moveLocked(tx, scope, { mxedges, to: { siteId, siteName }, at })
    return merge(devices, {
      success: accepted.map(({ name }) => name),
      refused: [...refused, ...elsewhere.map(({ name }) => ({ name, reason: ELSEWHERE }))],
    })
  })
}

/** Removes devices and edge appliances from their sites, in one change; they stay in the organization. */
export function unassignHardware(ctx: Context, scope: OrgScope, names: DeviceNames): Promise<ChangeReport> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const devices = await unassignDevices(tx, scope, { names, at })
    const { found, refused } = await lockOthers(tx, scope, { names, devices })
    await moveLocked(tx, scope, { mxedges: found.map(({ device }) => device), to: null, at })
    return merge(devices, { success: found.map(({ name }) => name), refused })
  })
}

/**
 * Releases devices from the organization and deletes edge appliances, in one change. Anyone with a code may claim them.
 */
export async function unclaimHardware(
  ctx: Context,
  scope: OrgScope,
  { files, names }: { readonly files: ImageFiles; readonly names: DeviceNames },
): Promise<ChangeReport> {
  const at = ctx.clock.now()
  const pictures: string[] = []
  const report = await inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const devices = await unclaimDevices(tx, scope, { names, at })
    const { found, refused } = await lockOthers(tx, scope, { names, devices })
    for (const { device } of found) pictures.push(...(await removeMxedge(tx, scope, { mxedge: device, at })))
    return merge(devices, { success: found.map(({ name }) => name), refused })
  })
  for (const name of pictures) await removeImage(files, name)
  return report
}

/**
 * Reports on devices and edge appliances without changing them.
 * @param refusal The reason why each that the organization has is refused; null if it is as the client wants it.
 */
export function checkHardware(
  ctx: Context,
  scope: OrgScope,
  { names, refusal }: { readonly names: DeviceNames; readonly refusal: string | null },
): Promise<ChangeReport> {
  const report = ({ found, refused }: Selection<Labeled>): ChangeReport => ({
    success: refusal === null ? found.map(({ name }) => name) : [],
    refused: refusal === null ? refused : [...refused, ...found.map(({ name }) => ({ name, reason: refusal }))],
  })
  return inTx(ctx, async (tx) => {
    const devices = report(selectDevices(names, await lockDevicesBy(tx, scope, plainNames(names))))
    return merge(devices, report(await lockOthers(tx, scope, { names, devices })))
  })
}

/** Locks the edge appliances among the names that no device has. */
async function lockOthers(
  tx: Tx,
  scope: OrgScope,
  { names, devices }: { readonly names: DeviceNames; readonly devices: ChangeReport },
) {
  const unknown = new Set(devices.refused.filter(({ reason }) => reason === NOT_FOUND).map(({ name }) => name))
  const others = {
    macs: names.macs.filter((name) => unknown.has(name)),
    serials: names.serials.filter((name) => unknown.has(name)),
  }
  return selectDevices(others, await lockMxedgesBy(tx, scope, plainNames(others)))
}

/** The report on edge appliances decides on the names that no device has. */
function merge(devices: ChangeReport, mxedges: ChangeReport): ChangeReport {
  return {
    success: [...devices.success, ...mxedges.success],
    refused: settleUnknown(devices.refused, mxedges.refused, ({ name }) => name),
  }
}
