import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { inTurns } from '../../platform/queues/next-turn.ts'
import type { NewUpgrade } from '../../rollout/store-create.ts'
import { decodePlanInSteps } from './encode-plan.ts'
import { noSuchPlan } from './find-request.ts'
import { findDifferencesInSteps } from './plan-differences.ts'
import type { NamedDevice, PlanDifference, StoredPlan } from './preview.ts'
import { deletePreview, isStarted } from './store.ts'

/** The maximum number of differences that an answer names. */
const MAX_DIFFERENCES = 100

/**
 * Returns the upgrade of the plan whose id it has, and deletes the plan.
 * @param fresh The same upgrade, planned again.
 * @param devices All of its sites, for the names in the error.
 * @throws AppError invalid if there is no such plan any more; outdated if the fleet has changed since.
 */
export async function usePlan(
  tx: Tx,
  scope: InOrg,
  fresh: NewUpgrade,
  devices: readonly NamedDevice[],
): Promise<NewUpgrade> {
  const { id, createdAt: now } = fresh.org
  const stored = await deletePreview<StoredPlan>(tx, scope, { id, now })
  if (stored === undefined) throw noSuchPlan(await isStarted(tx, scope, id))
  const differences = await inTurns(findDifferencesInSteps(stored, fresh))
  if (differences.length > 0) throw outdatedWithNames(differences, devices)
  return inTurns(decodePlanInSteps(stored, fresh))
}

function outdatedWithNames(differences: readonly PlanDifference[], devices: readonly NamedDevice[]): AppError {
  const shown = differences.slice(0, MAX_DIFFERENCES)
  const macs = new Set(shown.map(({ mac }) => mac))
  const names = new Map(devices.flatMap(({ mac, name }) => (macs.has(mac) && name !== null ? [[mac, name]] : [])))
  return outdated(
    shown.map((one) => describe(one, names.get(one.mac ?? ''))),
    differences.length,
  )
}

/** @param differences As on the wire. */
export function outdated(differences: readonly object[], total = differences.length): AppError {
  const changed = total === 1 ? '1 fact that it relied on has changed' : `${total} facts that it relied on have changed`
  return new AppError('outdated', `The plan no longer fits: ${changed}`, {
    differences: differences.slice(0, MAX_DIFFERENCES),
    total,
  })
}

function describe({ mac, siteId, reason }: PlanDifference, name: string | undefined) {
  return {
    ...(mac !== null && { mac }),
    ...(name !== undefined && { name }),
    ...(siteId !== null && { site_id: siteId }),
    reason,
  }
}
