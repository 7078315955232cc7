import {
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type IDToken,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
} from 'openid-client'
import { isLoopbackUrl } from '../../../platform/outbound/loopback.ts'
import type { OauthProvider } from '../../parts.ts'
import type { Identity, OauthClient, ProviderAnswer, AuthorizationRequest } from './client.ts'
import { type FetchBounded, assertSecure, unavailable } from './fetch-bounded.ts'
import { explainProviderError, refusal } from './refusal.ts'

/**
 * Connects to a provider of OpenID Connect by discovery. The library checks the signature, issuer, audience, nonce and
 * times of ID tokens; it compares the times with the system's clock.
 *
 * @throws AppError unavailable if the metadata can't be fetched or is wrong.
 */
export async function discoverOpenId(provider: OauthProvider, fetchBounded: FetchBounded): Promise<OauthClient> {
  const issuer = new URL(provider.issuer)
  const config = await discovery(issuer, provider.clientId, {}, clientAuth(provider.clientSecret), {
    [customFetch]: fetchBounded,
    // fetchBounded allows plain http on loopback only, whatever the metadata names.
    execute: [enableNonRepudiationChecks, ...(isLoopbackUrl(issuer) ? [allowInsecureRequests] : [])],
  }).catch((error: unknown) => {
    throw unavailable(error)
  })
  const metadata = config.serverMetadata()
  for (const endpoint of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const)
    assertSecure(metadata[endpoint] ?? `no ${endpoint}`)
  return {
    issuer: metadata.issuer,
    sendsIss: metadata.authorization_response_iss_parameter_supported === true,
    async authorizationUrl(redirectUri, { state, nonce, verifier }) {
      return buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        // Azure includes the object id only with the profile.
        scope: provider.name === 'azure' ? 'openid profile' : 'openid',
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }).href
    },
    async identify(redirectUri, answer, authorization) {
      const checks = authorization === null ? {} : checksOf(authorization)
      const tokens = await authorizationCodeGrant(config, answerUrl(redirectUri, answer, authorization), {
        ...checks,
        idTokenExpected: true,
      }).catch((error: unknown) => {
        throw explainProviderError(error)
      })
      const claims = tokens.claims()
      if (claims === undefined) throw refusal('invalid_token', "The provider's answer has no ID token")
      return provider.name === 'azure' ? identityAtAzure(claims) : { issuer: claims.iss, subject: claims.sub }
    },
  }
}

/** Rebuilds the callback URL in the form that the library checks. */
export function answerUrl(
  redirectUri: string,
  { code, iss }: ProviderAnswer,
  authorization: AuthorizationRequest | null,
): URL {
  const url = new URL(redirectUri)
  url.searchParams.set('code', code)
  if (iss !== undefined) url.searchParams.set('iss', iss)
  if (authorization !== null) url.searchParams.set('state', authorization.state)
  return url
}

function checksOf({ state, nonce, verifier }: AuthorizationRequest) {
  return { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier }
}

/** Authenticates in a way that the provider offers; client_secret_basic is the default of the standard. */
function clientAuth(secret: string): ClientAuth {
  const byPost = ClientSecretPost(secret)
  const byHeader = ClientSecretBasic(secret)
  return (...request) => {
    const [{ token_endpoint_auth_methods_supported: offered = ['client_secret_basic'] }] = request
    const authenticate = offered.includes('client_secret_post') ? byPost : byHeader
    authenticate(...request)
  }
}

/** Azure's `sub` differs between applications: the tenant (in the issuer) and the object id identify the person. */
function identityAtAzure({ iss, tid, oid }: IDToken): Identity {
  if (typeof tid !== 'string' || typeof oid !== 'string')
    throw refusal('invalid_token', "The provider's answer names no tenant and object")
  return { issuer: iss, subject: `${tid}.${oid}` }
}
