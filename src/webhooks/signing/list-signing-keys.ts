import { systemScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { type SigningKey, keysInUse } from './signing-keys.ts'
import { getWebhookSecrets } from './store.ts'
import { openWebhookSecrets } from '../secrets/webhook-secrets.ts'

/**
 * Lists the current signing keys of a webhook. Their public parts are not secret, so the scope needs no caller.
 * @throws AppError not_found.
 */
export async function listSigningKeys(
  ctx: Context,
  { orgId, webhookId }: { readonly orgId: string; readonly webhookId: string },
): Promise<SigningKey[]> {
  const sealed = await getWebhookSecrets(ctx.db, systemScope('webhooks', orgId), webhookId)
  return keysInUse(openWebhookSecrets(ctx.secrets, webhookId, sealed).signingKeys, ctx.clock.now())
}
