import type { Context } from '../../../platform/context.ts'
import { inTx } from '../../../platform/database/db.ts'
import { sha256 } from '../../../platform/secrets.ts'
import type { Identity, ProviderAnswer, AuthorizationRequest } from '../providers/client.ts'
import { type Redeemer, mayRedeem } from './decide-redeem.ts'
import { openCode } from './flow.ts'
import { type Oauth, redirectUri } from '../oauth.ts'
import { reasonsOf, refusal } from '../providers/refusal.ts'
import { consumeCode } from '../store.ts'

export type Redemption = Omit<Redeemer, 'now'> & { readonly code: string }

/**
 * Redeems our code, and with it the provider's, for the identity of the person who came back with it.
 *
 * @throws AppError not_found for an unknown provider, unavailable, or invalid with the error object.
 */
export async function redeemCode(ctx: Context, oauth: Oauth, redemption: Redemption): Promise<Identity> {
  const { code: plain, ...redeemer } = redemption
  const { client, provider } = await oauth.clients.get(redeemer.provider)
  const codeHash = sha256(plain)
  const row = await inTx(ctx, (tx) => consumeCode(tx, codeHash))
  const identify = (answer: ProviderAnswer, authorization: AuthorizationRequest | null): Promise<Identity> =>
    client.identify(redirectUri(ctx, provider.name), answer, authorization).catch((error: unknown) => {
      ctx.log.warn({ provider: provider.name, why: reasonsOf(error) }, 'a provider did not identify the person')
      throw error
    })
  if (row === undefined) {
    // This may be the provider's own code. Nothing ties it to the caller, so it is not accepted from browsers, which
    // could be tricked into sending one.
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
  return refusal('invalid_grant', 'The code is unknown, used, expired or not for this caller')
}
