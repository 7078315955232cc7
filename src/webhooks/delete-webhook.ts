import { type PlaceScope, siteIdOf } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { wakeAfterCommit } from '../platform/database/wakes.ts'
import { deleteWebhookRow, lockWebhookAndLane } from './store.ts'
import { auditDocument, webhookName, webhookOf } from './webhook.ts'

/**
 * Deletes a webhook. Its messages are in no list any more, and are not sent; a worker deletes their rows. Its delivery records stay until
 * they expire.
 */
export async function deleteWebhook(ctx: Context, scope: PlaceScope, id: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const before = webhookOf(ctx.secrets, await lockWebhookAndLane(tx, scope, id))
    await deleteWebhookRow(tx, scope, id)
    const message = `Delete Webhook "${webhookName(before.doc)}"`
    await appendAudit(tx, scope, { message, siteId: siteIdOf(scope), before: auditDocument(id, before), at })
    // The process that has the lane has messages of it in memory.
    wakeAfterCommit(tx, 'deliveries', [id])
    wakeAfterCommit(tx, 'webhook_deletions')
  })
}
