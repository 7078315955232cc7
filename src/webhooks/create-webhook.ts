import { uuidv7 } from '../platform/uuidv7.ts'
import { type PlaceScope, siteIdOf } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import type { OutboundHttp } from '../platform/outbound/outbound-http.ts'
import { assertCallable } from '../platform/assert-callable.ts'
import { type WebhookLimits, assertRoomForWebhook } from './limits/limits.ts'
import { planSigningKeys } from './signing/signing-keys.ts'
import { lockWebhookCounts } from './limits/store.ts'
import { updateLaneModes } from './lanes/store-modes.ts'
import { disabledByRequest } from './health/disabled.ts'
import { insertWebhook } from './store.ts'
import type { Document } from '../platform/json/document.ts'
import { type Webhook, type WebhookContent, auditDocument, mergeWebhook, webhookName, webhookOf } from './webhook.ts'
import { sealWebhookSecrets } from './secrets/webhook-secrets.ts'

export interface NewWebhook {
  readonly body: Document
  /** Decides whether the address may be called. */
  readonly outbound: OutboundHttp
  readonly limits: WebhookLimits
}

/** @throws AppError invalid naming the field, or if the place has as many webhooks as it may have. */
export async function createWebhook(
  ctx: Context,
  scope: PlaceScope,
  { body, outbound, limits }: NewWebhook,
): Promise<Webhook> {
  const siteId = siteIdOf(scope)
  const { urls, ...content } = mergeWebhook(null, body, siteId)
  await assertCallable(outbound, urls, scope)
  return inTx(ctx, async (tx) => {
    assertRoomForWebhook(limits, await lockWebhookCounts(tx, scope))
    const webhook = await insertNewWebhook(ctx, tx, scope, content)
    const message = `Add Webhook "${webhookName(content.doc)}"`
    const after = auditDocument(webhook.id, content)
    await appendAudit(tx, scope, { message, siteId, after, at: webhook.createdAt })
    return webhook
  })
}

/** Inserts a webhook with its lane, without an audit record. */
export async function insertNewWebhook(
  { clock, secrets }: Context,
  tx: Tx,
  scope: PlaceScope,
  content: WebhookContent,
): Promise<Webhook> {
  const at = clock.now()
  const id = uuidv7()
  const row = await insertWebhook(tx, scope, {
    id,
    ...content,
    secrets: sealWebhookSecrets(secrets, id, {
      fields: content.secrets,
      retired: [],
      signingKeys: planSigningKeys(content.doc, [], at),
    }),
    disabled: disabledByRequest(content, null, at),
    at,
  })
  await updateLaneModes(tx, { orgId: scope.orgId, webhookId: id }, content.doc)
  return webhookOf(secrets, row)
}
