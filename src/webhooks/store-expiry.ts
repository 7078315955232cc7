import type { Db, Tx } from '../platform/db.ts'
import type { LaneKey } from './store-lanes.ts'

/** Lanes with messages that were made before `before`, in the order of their keys. */
export async function listLanesOlderThan(db: Db, before: Date): Promise<LaneKey[]> {
  return db
    .selectFrom('webhookMessage')
    .select(['orgId', 'webhookId'])
    .distinct()
    .where('createdAt', '<', before)
    .orderBy('orgId')
    .orderBy('webhookId')
    .execute()
}

/**
 * Deletes a lane's messages that were made before `before`. The lane has to be locked, and recounted after.
 * @returns How many.
 */
export async function deleteMessagesOlderThan(tx: Tx, { orgId, webhookId }: LaneKey, before: Date): Promise<number> {
  const result = await tx
    .deleteFrom('webhookMessage')
    .where('orgId', '=', orgId)
    .where('webhookId', '=', webhookId)
    .where('createdAt', '<', before)
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
