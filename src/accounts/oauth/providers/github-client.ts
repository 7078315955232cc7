import {
  Configuration,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  customFetch,
  fetchProtectedResource,
} from 'openid-client'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { isLoopbackUrl } from '../../../platform/outbound/loopback.ts'
import type { OauthProvider } from '../../parts.ts'
import type { OauthClient } from './client.ts'
import type { FetchBounded } from './fetch-bounded.ts'
import { answerUrl } from './openid-client.ts'
import { explainProviderError, refusal } from './refusal.ts'

const User = Type.Object({ id: Type.Integer({ minimum: 1 }) })
const TokenError = Type.Object({ error: Type.String() })

/**
 * Connects to GitHub, which has OAuth without ID tokens: its user API identifies the person. The numeric id stays when
 * a login is renamed.
 */
export function connectGithub(provider: OauthProvider, fetchBounded: FetchBounded): OauthClient {
  const base = provider.issuer.replace(/\/+$/, '')
  const issuer = `${base}/login/oauth`
  // An Enterprise Server has its API below its own URL.
  const userUrl = base === 'https://github.com' ? 'https://api.github.com/user' : `${base}/api/v3/user`
  const config = new Configuration(
    { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/access_token` },
    provider.clientId,
    provider.clientSecret,
  )
  config[customFetch] = fetchGithubBy(fetchBounded)
  if (isLoopbackUrl(new URL(base))) allowInsecureRequests(config)
  return {
    issuer,
    // GitHub sends `iss`, but no metadata promises it.
    sendsIss: false,
    async authorizationUrl(redirectUri, { state, verifier }) {
      return buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        state,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }).href
    },
    async identify(redirectUri, answer, authorization) {
      try {
        const checks =
          authorization === null ? {} : { expectedState: authorization.state, pkceCodeVerifier: authorization.verifier }
        const tokens = await authorizationCodeGrant(config, answerUrl(redirectUri, answer, authorization), checks)
        const headers = new Headers({ accept: 'application/json', 'user-agent': 'signalbox' })
        const user: unknown = await fetchProtectedResource(
          config,
          tokens.access_token,
          new URL(userUrl),
          'GET',
          null,
          headers,
        ).then((reply) => (reply.ok ? reply.json() : null))
        if (!Value.Check(User, user)) throw refusal('invalid_token', 'The provider does not say who this is')
        return { issuer: base, subject: String(user.id) }
      } catch (error) {
        throw explainProviderError(error)
      }
    },
  }
}

/** GitHub reports errors of its token endpoint with status 200. */
function fetchGithubBy(fetchBounded: FetchBounded): FetchBounded {
  return async (url, options) => {
    const answer = await fetchBounded(url, options)
    if (options.method !== 'POST' || !answer.ok) return answer
    const text = await answer.text()
    return new Response(text, { status: isTokenError(text) ? 400 : answer.status, headers: answer.headers })
  }
}

function isTokenError(text: string): boolean {
  try {
    return Value.Check(TokenError, JSON.parse(text))
  } catch {
    // A text that is not JSON is not an error object; the library reports what is wrong with it.
    return false
  }
}
