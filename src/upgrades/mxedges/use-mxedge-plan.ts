import type { InOrg } from '../../access/scope.ts'
import type { NewUpgrade } from '../../mxedges/upgrades/store-create.ts'
import type { Tx } from '../../platform/database/db.ts'
import { noSuchPlan } from '../previews/find-request.ts'
import { deletePreview, isStarted } from '../previews/store.ts'
import { outdated } from '../previews/use-plan.ts'
import { type StoredMxedgePlan, decodeMxedgePlan, findMxedgeDifferences } from './plan-preview.ts'

/**
 * Returns the upgrade of the plan whose id it has, and deletes the plan.
 * @param fresh The same upgrade, planned again.
 * @throws AppError invalid if there is no such plan any more; outdated if the fleet has changed since.
 */
export async function useMxedgePlan(tx: Tx, scope: InOrg, fresh: NewUpgrade, now: Date): Promise<NewUpgrade> {
  const { id } = fresh
  const stored = await deletePreview<StoredMxedgePlan>(tx, scope, { id, now })
  if (stored === undefined) throw noSuchPlan(await isStarted(tx, scope, id))
  const differences = findMxedgeDifferences(stored, fresh, now)
  if (differences.length === 0) return decodeMxedgePlan(stored, fresh)
  throw outdated(
    differences.map(({ mxedgeId, reason }) => (mxedgeId === null ? { reason } : { mxedge_id: mxedgeId, reason })),
  )
}
