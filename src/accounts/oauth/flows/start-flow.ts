import { randomBytes } from 'node:crypto'
import { randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client'
import { addMs } from '../../../platform/time/clock.ts'
import type { Context } from '../../../platform/context.ts'
import { inTx } from '../../../platform/database/db.ts'
import { invalidField } from '../../../platform/errors.ts'
import { sha256 } from '../../../platform/secrets.ts'
import { isTrustedUrl } from '../../trusted-url.ts'
import type { Binding } from './binding.ts'
import { FLOW_MS, type Purpose, sealFlow } from './flow.ts'
import { type Oauth, redirectUri } from '../oauth.ts'
import { deleteExpired, insertFlow } from '../store.ts'

export interface FlowRequest {
  readonly provider: string
  readonly purpose: Purpose
  readonly bound: Binding
  readonly script: boolean
  readonly forward?: string | undefined
}

export interface StartedFlow {
  readonly authorizationUrl: string
  readonly clientId: string
}

/**
 * Begins a sign-in at a provider.
 *
 * @throws AppError not_found for an unknown provider, invalid for a `forward` that is not allowed, unavailable.
 */
export async function startFlow(ctx: Context, oauth: Oauth, request: FlowRequest): Promise<StartedFlow> {
  const { provider, purpose, bound, script, forward = null } = request
  const { client, provider: settings } = await oauth.clients.get(provider)
  if (forward !== null && !isTrustedUrl(forward, ctx.baseUrl, oauth.settings))
    throw invalidField('forward', 'must be a URL of an origin that is allowed')
  const authorization = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
  const authorizationUrl = await client.authorizationUrl(redirectUri(ctx, provider), authorization)
  const stateHash = sha256(authorization.state)
  const sealed = sealFlow(ctx, stateHash, { nonce: authorization.nonce, verifier: authorization.verifier, script })
  const createdAt = ctx.clock.now()
  const expiresAt = addMs(createdAt, FLOW_MS)
  await inTx(ctx, async (tx) => {
    await deleteExpired(tx, createdAt)
    await insertFlow(tx, { stateHash, provider, purpose, bound, sealed, forward, createdAt, expiresAt })
  })
  return { authorizationUrl, clientId: settings.clientId }
}

/** Generates the value of the cookie that binds a login to its browser. */
export function generateFlowCookie(): string {
  return randomBytes(32).toString('base64url')
}
