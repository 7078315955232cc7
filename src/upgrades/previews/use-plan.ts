import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { inTurns } from '../../platform/queues/next-turn.ts'
import type { NewUpgrade } from '../../rollout/store-create.ts'
import { decodePlanInSteps } from './encode-plan.ts'
import { noSuchPlan } from './find-request.ts'
import { findDifferencesInSteps } from './plan-differences.ts'
import type { PlanDifference, StoredPlan } from './preview.ts'
import { deletePreview, isStarted } from './store.ts'

/** An answer names no more of them. */
const MAX_DIFFERENCES = 100

/**
 * Returns the upgrade of the plan whose id it has, and deletes the plan.
 * @param fresh The same upgrade, planned again.
 * @throws AppError invalid if there is no such plan any more; outdated if the fleet has changed since.
 */
export async function usePlan(tx: Tx, scope: InOrg, fresh: NewUpgrade): Promise<NewUpgrade> {
  const { id, createdAt: now } = fresh.org
  const stored = await deletePreview<StoredPlan>(tx, scope, { id, now })
  if (stored === undefined) throw noSuchPlan(await isStarted(tx, scope, id))
  const differences = await inTurns(findDifferencesInSteps(stored, fresh))
  if (differences.length > 0) throw outdated(differences.map(describe))
  return inTurns(decodePlanInSteps(stored, fresh))
}

/** @param differences As on the wire. */
export function outdated(differences: readonly object[]): AppError {
  const total = differences.length
  return new AppError('outdated', `The plan no longer fits: ${total} of the facts that it relied on have changed`, {
    differences: differences.slice(0, MAX_DIFFERENCES),
    total,
  })
}

function describe({ mac, siteId, reason }: PlanDifference) {
  return { ...(mac !== null && { mac }), ...(siteId !== null && { site_id: siteId }), reason }
}
