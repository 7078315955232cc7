import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { sha256 } from '../../platform/secrets.ts'
import type { Identity, ProviderAnswer, AuthorizationRequest } from './client.ts'
import { type Redeemer, mayRedeem } from './decide-redeem.ts'
import { openCode } from './flow.ts'
import { type Oauth, redirectUri } from './oauth.ts'
import { reasonsOf, refusal } from './refusal.ts'
import { consumeCode } from './store.ts'

export type Redemption = Omit<Redeemer, 'now'> & { readonly code: string }

/**
 * Who the provider says that the person is, who came back with this code.
 * @throws AppError not_found for an unknown provider, unavailable, or invalid with the error object.
 */
export async function redeemCode(ctx: Context, oauth: Oauth, redemption: Redemption): Promise<Identity> {
  const { code: plain, ...redeemer } = redemption
  const { client, provider } = await oauth.clients.get(redeemer.provider)
  const codeHash = sha256(plain)
  const row = await inTx(ctx, (tx) => consumeCode(tx, codeHash))
  const identify = (answer: ProviderAnswer, authorization: AuthorizationRequest | null): Promise<Identity> =>
    client.identify(redirectUri(ctx, provider.name), answer, authorization).catch((error: unknown) => {
      ctx.log.warn({ provider: provider.name, why: reasonsOf(error) }, 'a provider did not say who somebody is')
      throw error
    })
  if (row === undefined) {
    // The provider's own code: nothing ties it to whoever brings it, so no browser may be led to bring one.
    if (!provider.acceptRawCodes || !redeemer.script) throw unknownCode()
    const iss = client.sendsIss ? client.issuer : undefined
    return identify({ code: plain, iss }, null)
  }
  const secrets = openCode(ctx, codeHash, row.sealed)
  if (!mayRedeem({ ...row, script: secrets.script }, { ...redeemer, now: ctx.clock.now() })) throw unknownCode()
  if (secrets.kind === 'denied') throw refusal(secrets.error, secrets.description)
  const { code, iss, ...authorization } = secrets
  return identify({ code, iss }, authorization)
}

function unknownCode() {
  return refusal('invalid_grant', 'The code is unknown, used, expired or not for this caller.')
}
