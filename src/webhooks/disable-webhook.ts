import { systemScopeOf } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import { appendSystemEvent } from '../events/append-system.ts'
import { AppError } from '../platform/errors.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import type { ClaimedLane } from './store-deliver.ts'
import { rescheduleLane } from './store-lanes.ts'
import { lockWebhook, updateWebhookRow } from './store.ts'
import { webhookName } from './webhook.ts'

/**
 * Disables a webhook whose receiver answered 410, with an audit record. Its waiting messages stay and are
 * sent if somebody enables it again. Does nothing if the webhook has been deleted meanwhile.
 */
export async function disableGoneWebhook(ctx: Context, lane: ClaimedLane): Promise<void> {
  const { siteId } = lane.webhook
  const scope = systemScopeOf('webhooks', { orgId: lane.orgId, siteId })
  const at = ctx.clock.now()
  try {
    await inTx(ctx, async (tx) => {
      const row = await lockWebhook(tx, scope, lane.webhookId)
      if (!row.enabled) return
      await updateWebhookRow(tx, scope, { ...row, enabled: false, at })
      const message = `Disable Webhook "${webhookName(row.doc)}": its receiver answered 410 Gone`
      const name = webhookName(row.doc)
      const text = `Webhook "${name}" has been disabled, because its receiver answered 410 Gone`
      const details = { webhook_id: lane.webhookId }
      await appendSystemEvent(tx, scope, { type: 'WEBHOOK_DISABLED', siteId, text, details }, at)
      await appendAudit(tx, scope, { message, siteId, before: { enabled: true }, after: { enabled: false }, at })
      await rescheduleLane(tx, lane)
    })
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'not_found')) throw error
  }
}
