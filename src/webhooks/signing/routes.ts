import { Type } from 'typebox'
import { nobody, orgAndSite } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { listSigningKeys } from './list-signing-keys.ts'
import { replaceWebhookKey } from './replace-signing-key.ts'
import { type SigningKey, publicKeyOf } from './signing-keys.ts'

const KeysReply = named(
  'WebhookKeys',
  Type.Object({
    keys: Type.Array(
      Type.Object({
        kty: Type.Literal('OKP'),
        crv: Type.Literal('Ed25519'),
        alg: Type.Literal('EdDSA'),
        use: Type.Literal('sig'),
        kid: Type.String(),
        x: Type.String(),
        public_key: Type.String({ description: 'as Standard Webhooks writes it: whpk_ and base64' }),
        until: Type.Optional(Timestamp),
      }),
      { description: 'The current one first, then those that were replaced and still sign' },
    ),
  }),
)

const present = (keys: readonly SigningKey[]): { keys: ReturnType<typeof publicKeyOf>[] } => ({
  keys: keys.map(publicKeyOf),
})

/** The Ed25519 keys by which receivers verify messages. */
export const keyOperations: Operation[] = [
  operation({
    id: 'listWebhookKeys',
    summary: 'List the public keys that verify the messages of a webhook; needs no credentials',
    method: 'GET',
    tag: 'Orgs Webhooks',
    at: nobody('/webhook_keys/:org_id/:webhook_id'),
    params: { org_id: Uuid, webhook_id: Uuid },
    reply: KeysReply,
    run: async (ctx, { params: { org_id: orgId, webhook_id: webhookId } }) =>
      present(await listSigningKeys(ctx, { orgId, webhookId })),
  }),
  operation({
    id: { org: 'replaceOrgWebhookKey', site: 'replaceSiteWebhookKey' },
    summary: {
      org: 'Replace the Ed25519 key of a webhook of an organization',
      site: 'Replace the Ed25519 key of a webhook of a site',
    },
    method: 'POST',
    tag: { org: 'Orgs Webhooks', site: 'Sites Webhooks' },
    at: orgAndSite('/webhooks/:webhook_id/replace_key', { needs: 'write' }),
    params: { webhook_id: Uuid },
    reply: KeysReply,
    run: async (ctx, { scope, params: { webhook_id: id } }) => present(await replaceWebhookKey(ctx, scope, id)),
  }),
].flat()
