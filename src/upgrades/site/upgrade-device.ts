import type { OrgScope, SiteScope, SitesScope } from '../../access/scope.ts'
import { findActiveUpgrade } from '../../devices/commands/store-upgrades.ts'
import { deviceIdOf } from '../../devices/device.ts'
import { findDevice, listDevicesById } from '../../devices/store.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/database/db.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { CreatedUpgrade } from '../creation/create-upgrade.ts'
import { inCreationTx } from '../creation/in-creation-tx.ts'
import type { UpgradePreview } from '../previews/preview.ts'
import { type PreviewOrigin, previewUpgrade } from '../previews/preview-upgrade.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'

export interface DeviceUpgrade {
  /** `success`: the device runs the version already. `scheduled`: its start has not come, or it is offline. */
  readonly status: 'scheduled' | 'starting' | 'success'
  readonly at: Date
  /** The id of the site upgrade. */
  readonly upgradeId: string
}

/**
 * Creates an upgrade of one device; see createUpgrade().
 * @param request It selects only the device.
 * @throws AppError not_found for a device that is not at the site; invalid if another upgrade has the device, or if it can't
 *   be upgraded.
 */
export async function upgradeDevice(
  ctx: Context,
  scope: SiteScope,
  { deviceId, request }: { readonly deviceId: string; readonly request: UpgradeRequest },
): Promise<DeviceUpgrade> {
  return inCreationTx(ctx, scope, async (tx, create) => {
    if ((await findDevice(tx, scope, deviceId)) === undefined) throw notFound(deviceId)
    return upgradeLone(ctx, tx, scope, { deviceId, create: () => create(request) })
  })
}

/** `create` creates an upgrade of only the device, which the caller has found in the scope. */
async function upgradeLone(
  ctx: Context,
  tx: Tx,
  scope: SitesScope,
  { deviceId, create }: { readonly deviceId: string; readonly create: () => Promise<CreatedUpgrade> },
): Promise<DeviceUpgrade> {
  const created = await create()
  const [siteUpgrade] = created.sites
  const [plan] = created.plans
  if (siteUpgrade === undefined || plan === undefined) throw notFound(deviceId)
  if (plan.kind === 'leave_out') throw new AppError('invalid', `The device can't be upgraded: ${plan.reason}`)
  if (created.busy.size > 0) throw await refuseBusy(tx, scope, deviceId)
  return { status: statusOf(created, ctx.clock.now()), at: created.org.createdAt, upgradeId: siteUpgrade.id }
}

/**
 * Upgrades a switch or gateway wherever it is in the organization, as upgradeDevice() does.
 * @param requestAt Returns the request for the site of the device.
 * @throws AppError not_found for an access point and an unknown MAC; invalid for a device without a site.
 */
export async function upgradeDeviceByMac(
  ctx: Context,
  scope: OrgScope,
  { mac, requestAt }: { readonly mac: string; readonly requestAt: (siteId: string) => UpgradeRequest },
): Promise<DeviceUpgrade> {
  const deviceId = deviceIdOf(mac)
  return inCreationTx(ctx, scope, async (tx, create) => {
    const [device] = await listDevicesById(tx, scope, [deviceId])
    if (device === undefined || device.type === 'ap') throw notFound(mac)
    const { siteId } = device
    if (siteId === null) throw new AppError('invalid', 'The device has no site: assign it first')
    return upgradeLone(ctx, tx, scope, { deviceId, create: () => create(requestAt(siteId)) })
  })
}

/** Plans an upgrade of one device; see previewUpgrade(). @throws AppError not_found, invalid */
export async function previewDeviceUpgrade(
  ctx: Context,
  scope: SiteScope,
  { deviceId, ...wanted }: { readonly deviceId: string; readonly request: UpgradeRequest } & PreviewOrigin,
): Promise<UpgradePreview> {
  if ((await findDevice(ctx.db, scope, deviceId)) === undefined) throw notFound(deviceId)
  return previewUpgrade(ctx, scope, wanted)
}

async function refuseBusy(tx: Tx, scope: SitesScope, deviceId: string): Promise<AppError> {
  const upgradeId = await findActiveUpgrade(tx, scope, deviceId)
  return new AppError('invalid', 'The device is in another upgrade', { upgrade_id: upgradeId })
}

function statusOf({ sites, plans }: CreatedUpgrade, now: Date): DeviceUpgrade['status'] {
  if (plans.every(({ kind }) => kind === 'skip')) return 'success'
  const waits = sites.some(({ startAt }) => startAt > now) || plans.some(({ device }) => !device.connected)
  return waits ? 'scheduled' : 'starting'
}
