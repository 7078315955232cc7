import type { SitesScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/database/db.ts'
import { countHold, countReleasedDevices } from '../../rollout/metrics.ts'
import { inUpgradeTx } from './in-upgrade-tx.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import { type CreatedUpgrade, createUpgrade } from './create-upgrade.ts'

/**
 * Runs inUpgradeTx() for the creation of an upgrade, and counts the upgrade once it is committed.
 * @param work Gets createUpgrade() for its transaction.
 */
export async function inCreationTx<T>(
  ctx: Context,
  scope: SitesScope,
  work: (tx: Tx, create: (request: UpgradeRequest) => Promise<CreatedUpgrade>) => Promise<T>,
): Promise<T> {
  // The upgrade itself is garbage as soon as it is written: a large one is most of the memory that the service needs.
  const created: Pick<CreatedUpgrade, 'taken' | 'hold'>[] = []
  const result = await inUpgradeTx(ctx, scope, (tx) =>
    work(tx, async (request) => {
      const upgrade = await createUpgrade(ctx, tx, scope, request)
      created.push({ taken: upgrade.taken, hold: upgrade.hold })
      return upgrade
    }),
  )
  for (const { taken, hold } of created) {
    countReleasedDevices(ctx.metrics, taken.length)
    if (hold !== null) countHold(ctx.metrics, hold)
  }
  return result
}
