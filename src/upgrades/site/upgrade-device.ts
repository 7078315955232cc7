import type { SiteScope } from '../../access/scope.ts'
import { findActiveUpgrade } from '../../devices/commands/store-upgrades.ts'
import { findDevice } from '../../devices/store.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/db.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { type CreatedUpgrade, createUpgrade } from '../create-upgrade.ts'
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
 * @param request It selects the device alone.
 * @throws AppError not_found for a device that is not at the site; invalid if another upgrade has the device.
 */
export function upgradeDevice(
  ctx: Context,
  scope: SiteScope,
  { deviceId, request }: { readonly deviceId: string; readonly request: UpgradeRequest },
): Promise<DeviceUpgrade> {
  return inTx(ctx, async (tx) => {
    if ((await findDevice(tx, scope, deviceId)) === undefined) throw notFound(deviceId)
    const created = await createUpgrade(ctx, tx, scope, request)
    const [siteUpgrade] = created.sites
    const [plan] = created.plans
    if (siteUpgrade === undefined || plan === undefined) throw notFound(deviceId)
    if (plan.kind === 'upgrade' && created.targets.length === 0) throw await refuseBusy(tx, scope, deviceId)
    return { status: statusOf(created, ctx.clock.now()), at: created.org.createdAt, upgradeId: siteUpgrade.id }
  })
}

async function refuseBusy(tx: Tx, scope: SiteScope, deviceId: string): Promise<AppError> {
  const upgradeId = await findActiveUpgrade(tx, scope, deviceId)
  return new AppError('invalid', 'The device is in another upgrade', { upgrade_id: upgradeId })
}

function statusOf({ sites, plans }: CreatedUpgrade, now: Date): DeviceUpgrade['status'] {
  if (plans.every(({ kind }) => kind === 'skip')) return 'success'
  const waits = sites.some(({ startAt }) => startAt > now) || plans.some(({ device }) => !device.connected)
  return waits ? 'scheduled' : 'starting'
}
