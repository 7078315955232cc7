import { type PlaceScope, siteIdOf } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import type { OutboundHttp } from '../platform/outbound/outbound-http.ts'
import { wakeAfterCommit } from '../platform/database/wakes.ts'
import { assertCallable } from '../platform/assert-callable.ts'
import { planSigningKeys } from './signing/signing-keys.ts'
import { updateLaneModes } from './lanes/store-modes.ts'
import { beginOrder, endOrder } from './lanes/store-order.ts'
import { isPulled } from './delivery-options.ts'
import { passPingsToFetch } from './pings/ping-webhook.ts'
import { getWebhook, lockWebhook, updateWebhookRow } from './store.ts'
import { disabledByRequest } from './health/disabled.ts'
import { closeBreaker } from './lanes/store-breaker.ts'
import { lockLanes, rescheduleLanes } from './lanes/store.ts'
import type { Document } from '../platform/json/document.ts'
import { type Webhook, auditDocument, mergeWebhook, webhookName, webhookOf } from './webhook.ts'
import { assertSecretsGiven, keepUnseenQueries } from './secrets/unseen-secrets.ts'
import { retireSecrets, sealWebhookSecrets } from './secrets/webhook-secrets.ts'

export interface WebhookChange {
  readonly id: string
  readonly body: Document
  /** True if the caller does not see the secrets of the webhook. */
  readonly isBlind?: boolean
  /** Decides whether the address may be called. */
  readonly outbound: OutboundHttp
}

/**
 * Fields that change the content or the time of messages, but not their destination and transport. All others concern
 * the receiver.
 */
const ownFields = new Set(['name', 'enabled', 'topics', 'single_event_per_message', 'filter', 'secret_overlap_s'])

function concernsReceiver(body: Document): boolean {
  return Object.keys(body).some((name) => !ownFields.has(name.replace(/^-/, '')))
}

/**
 * Replaces the top-level fields that `body` names; see mergeDocument. A disabled webhook gets no new events;
 * messages that waited before stay, and are sent when it is enabled again. Enabling, or a change that concerns the receiver,
 * closes the breaker and ends the time of failing.
 */
export async function updateWebhook(
  ctx: Context,
  scope: PlaceScope,
  { id, body: sent, isBlind = false, outbound }: WebhookChange,
): Promise<Webhook> {
  const at = ctx.clock.now()
  const siteId = siteIdOf(scope)
  const bodyFor = (stored: Webhook): Document => (isBlind ? keepUnseenQueries(stored, sent) : sent)
  // Resolving the name takes time and uses the network, so it comes before the transaction.
  const known = webhookOf(ctx.secrets, await getWebhook(ctx.db, scope, id))
  const { urls } = mergeWebhook(known, bodyFor(known), siteId)
  if (['type', ...Object.keys(urls)].some((name) => name in sent)) await assertCallable(outbound, urls, scope)
  return inTx(ctx, async (tx) => {
    const before = webhookOf(ctx.secrets, await lockWebhook(tx, scope, id))
    const body = bodyFor(before)
    const after = mergeWebhook(before, body, siteId)
    if (isBlind) assertSecretsGiven({ before: mergeWebhook(before, {}, siteId), body, after })
    const { urls: _, ...content } = after
    const secrets = sealWebhookSecrets(ctx.secrets, id, {
      fields: content.secrets,
      retired: retireSecrets(before, content, at),
      signingKeys: planSigningKeys(content.doc, before.signingKeys, at),
    })
    const row = await updateWebhookRow(tx, scope, {
      id,
      ...content,
      secrets,
      disabled: disabledByRequest(content, before, at),
      at,
    })
    await appendAudit(tx, scope, {
      message: `Update Webhook "${webhookName(content.doc)}"`,
      siteId,
      before: auditDocument(id, before),
      after: auditDocument(id, content),
      at,
    })
    // Last, because the router waits for the lane from here to the commit.
    const lane = { orgId: scope.orgId, webhookId: id }
    await lockLanes(tx, [lane])
    if (concernsReceiver(body) || (content.enabled && !before.enabled)) await closeBreaker(tx, lane, at)
    await updateLaneModes(tx, lane, content.doc)
    if (isPulled(content.doc)) {
      await beginOrder(tx, lane, { isNew: !isPulled(before.doc) })
      await passPingsToFetch(tx, lane, at)
    } else if (isPulled(before.doc)) await endOrder(tx, lane, at)
    await rescheduleLanes(tx, [lane])
    wakeAfterCommit(tx, 'deliveries', [id])
    return webhookOf(ctx.secrets, row)
  })
}
