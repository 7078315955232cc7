import { type PlaceScope, siteIdOf, systemScopeOf } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { appendSystemEvent } from '../../events/append-system.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { shareOrgIfAny } from '../../orgs/store.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import type { ClaimedLane } from '../delivery/store.ts'
import { rescheduleLane } from '../lanes/store.ts'
import { noticeHours } from './decide-notice.ts'
import { serviceReasons } from './disabled.ts'
import { upsertNotice } from './store-notices.ts'
import { type WebhookRow, lockUnchangedWebhook, updateWebhookRow } from '../store.ts'
import { webhookName } from '../webhook.ts'

/**
 * Disables a webhook whose receiver answered 410. Does nothing if the webhook has been deleted or changed since the message was
 * sent: another receiver may be meant now.
 */
export async function disableGoneWebhook(
  ctx: Context,
  { orgId, webhookId, webhook }: Pick<ClaimedLane, 'orgId' | 'webhookId' | 'webhook'>,
): Promise<void> {
  const scope = systemScopeOf('webhooks', { orgId, siteId: webhook.siteId })
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    if (!(await shareOrgIfAny(tx, scope))) return
    const row = await lockUnchangedWebhook(tx, scope, { id: webhookId, version: webhook.version })
    if (!row?.enabled) return
    await disableWebhook(tx, scope, { row, why: 'gone', at })
    await upsertNotice(tx, { orgId, webhookId, failingSince: at, hours: noticeHours[2] })
  })
}

export interface Disabling {
  /** Must be locked. */
  readonly row: WebhookRow
  readonly why: keyof typeof serviceReasons
  readonly at: Date
}

/**
 * Disables a webhook for the service, with an event and an audit record. Its waiting messages stay and are sent if a
 * person enables it again. The organization must have been locked before the webhook, because the event refers to it.
 */
export async function disableWebhook(tx: Tx, scope: PlaceScope, { row, why, at }: Disabling): Promise<void> {
  const { orgId, id: webhookId } = row
  const siteId = siteIdOf(scope)
  const name = webhookName(row.doc)
  await updateWebhookRow(tx, scope, { ...row, enabled: false, disabled: { at, why }, at })
  const text = `Webhook "${name}" has been disabled, because ${serviceReasons[why]}`
  const details = { webhook_id: webhookId }
  await appendSystemEvent(tx, scope, { type: 'WEBHOOK_DISABLED', siteId, text, details }, at)
  const message = `Disable Webhook "${name}": ${serviceReasons[why]}`
  const after = { enabled: false, webhook_id: webhookId }
  await appendAudit(tx, scope, { message, siteId, before: { enabled: true, webhook_id: webhookId }, after, at })
  await rescheduleLane(tx, { orgId, webhookId })
  wakeAfterCommit(tx, 'deliveries', [webhookId])
}
