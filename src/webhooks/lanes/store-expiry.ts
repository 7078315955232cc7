import type { Db, Tx } from '../../platform/database/db.ts'
import type { LaneKey } from './store.ts'
import { webhookName } from '../webhook.ts'

/** Lists lanes with messages that were created before `before`, in the order of their keys. */
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

/** Finds the place and the name of a lane's webhook. */
export async function findWebhookOf(
  tx: Tx,
  { orgId, webhookId }: LaneKey,
): Promise<{ readonly siteId: string | null; readonly name: string } | undefined> {
  const row = await tx
    .selectFrom('webhook')
    .select(['siteId', 'doc'])
    .where('orgId', '=', orgId)
    .where('id', '=', webhookId)
    .executeTakeFirst()
  return row === undefined ? undefined : { siteId: row.siteId, name: webhookName(row.doc) }
}
