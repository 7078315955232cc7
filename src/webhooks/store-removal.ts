import type { OrgScope, SiteScope } from '../access/scope.ts'
import { type Tx, anyOf } from '../platform/database/db.ts'

/** Locks webhooks, then their lanes, each in the order of their keys, as deliveries do. */
export async function lockWebhooks(tx: Tx, scope: OrgScope | SiteScope): Promise<void> {
  let hooks = tx.selectFrom('webhook').select('id').where('orgId', '=', scope.orgId)
  if ('siteId' in scope) hooks = hooks.where('siteId', '=', scope.siteId)
  const locked = await hooks.orderBy('id').forUpdate().execute()
  await tx
    .selectFrom('webhookLane')
    .select('webhookId')
    .where('orgId', '=', scope.orgId)
    .where('webhookId', '=', anyOf(locked.map(({ id }) => id)))
    .orderBy('webhookId')
    .forUpdate()
    .execute()
}
