import type { PlaceScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import type { UpgradeKind } from '../../rollout/rollout.ts'
import { cancelUpgrade } from '../../rollout/stops/cancel-upgrade.ts'
import { lockChanged } from './lock-changed.ts'

/**
 * Stops an upgrade. After the commit no device is commanded and none gets its image any more. Devices that have the
 * image finish, and the audit record names them. Of an upgrade that has ended, nothing changes except that it searches for no
 * further devices. At a site, only its own part stops: the other sites go on.
 *
 * @throws AppError not_found
 */
export async function cancelOrgUpgrade(
  ctx: Context,
  scope: PlaceScope,
  named: string,
  kind: UpgradeKind = 'device',
): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const { id, part, place } = await lockChanged(tx, scope, { id: named, kind })
    const message = part === null ? `Cancel upgrade ${id}` : `Cancel site upgrade ${part.id}`
    const change = { type: 'UPGRADE_CANCELLED', ...place, message } as const
    const reason = `cancelled by ${scope.actor.name}`
    await cancelUpgrade(tx, scope, { id, part, reason, at, nowMs: ctx.serviceClock.nowMs(), change })
  })
}
