import type { OrgScope, SiteScope } from '../access/scope.ts'
import { type Tx, anyOf } from '../platform/database/db.ts'
import { wakeAfterCommit } from '../platform/database/wakes.ts'

/**
 * Locks webhooks that are about to be deleted, then their lanes, each in the order of their keys, as deliveries do. What waits in
 * memory for one of them is not sent once `tx` has committed.
 */
export async function lockWebhooks(tx: Tx, scope: OrgScope | SiteScope): Promise<void> {
  let hooks = tx.selectFrom('webhook').select('id').where('orgId', '=', scope.orgId)
  if ('siteId' in scope) hooks = hooks.where('siteId', '=', scope.siteId)
  const locked = await hooks.orderBy('id').forUpdate().execute()
  const ids = locked.map(({ id }) => id)
  if (ids.length > 0) {
    wakeAfterCommit(tx, 'deliveries', ids)
    wakeAfterCommit(tx, 'webhook_deletions')
  }
  await tx
    .selectFrom('webhookLane')
    .select('webhookId')
    .where('orgId', '=', scope.orgId)
    .where('webhookId', '=', anyOf(ids))
    .orderBy('webhookId')
    .forUpdate()
    .execute()
}
