import { type PlaceScope, siteIdOf } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { secretOverlapMs } from '../delivery-options.ts'
import { type SigningKey, replaceSigningKey } from './signing-keys.ts'
import { lockWebhookAndLane, updateWebhookRow } from '../store.ts'
import { webhookName, webhookOf } from '../webhook.ts'
import { sealWebhookSecrets } from '../secrets/webhook-secrets.ts'

/**
 * Gives a webhook a new Ed25519 key. The former one signs beside it as long as a replaced secret would.
 * @returns All keys that sign now, the new one first.
 */
export async function replaceWebhookKey(ctx: Context, scope: PlaceScope, id: string): Promise<readonly SigningKey[]> {
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    // A claim of the lane reads the keys without a lock on the webhook, so it has to end before or begin afterwards.
    const webhook = webhookOf(ctx.secrets, await lockWebhookAndLane(tx, scope, id))
    const { doc, enabled, topics, retired, secrets: fields } = webhook
    const signingKeys = replaceSigningKey(webhook.signingKeys, at, secretOverlapMs(doc))
    const secrets = sealWebhookSecrets(ctx.secrets, id, { fields, retired, signingKeys })
    await updateWebhookRow(tx, scope, { id, doc, enabled, topics, secrets, at })
    const message = `Replace the signing key of Webhook "${webhookName(doc)}"`
    await appendAudit(tx, scope, { message, siteId: siteIdOf(scope), after: { webhook_id: id }, at })
    wakeAfterCommit(tx, 'deliveries', [id])
    return signingKeys
  })
}
