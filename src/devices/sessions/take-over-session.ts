import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { applyConnections } from './record-connect.ts'
import { listOpenSessions, lockClaimedStatuses } from './store.ts'

/**
 * Part of a claim: gives each device its status, from the session that it has had while unclaimed, if any. Call it when
 * the `device` rows exist and while the registry rows of the devices are locked (`for update`), in the claim's own
 * transaction.
 */
export async function takeOverSessions(
  tx: Tx,
  scope: InOrg,
  { deviceIds, at }: { deviceIds: readonly string[]; at: Date },
): Promise<void> {
  await lockClaimedStatuses(tx, deviceIds)
  await applyConnections(tx, await listOpenSessions(tx, scope, deviceIds), at)
}
