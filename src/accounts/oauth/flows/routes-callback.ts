import { sessionCookieOf } from '../../../access/authentication/session-cookie.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Context } from '../../../platform/context.ts'
import { sha256 } from '../../../platform/secrets.ts'
import { bindingOfCookie, bindingOfSession } from './binding.ts'
import { FLOW_COOKIE, type Oauth } from '../oauth.ts'
import { receiveCallback } from './receive-callback.ts'
import { CallbackQuery, ProviderParams } from '../wire.ts'

/**
 * The redirect URIs of the providers, outside /api/v1. Replies `{code}`, or 302 to `forward` with the code added.
 * Source: spec, "OAuth", 1.
 */
export function oauthCallbackRoutes(ctx: Context, oauth: Oauth): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/oauth/:provider/callback',
      {
        // A program that only checks where a URL leads must not use it up.
        exposeHeadRoute: false,
        schema: { hide: true, params: ProviderParams, querystring: CallbackQuery },
      },
      async ({ params, query, cookies }, reply) => {
        // The URL contains the provider's code, and the reply ours.
        void reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
        const { [sessionCookieOf(ctx)]: sessionId, [FLOW_COOKIE]: flow } = cookies
        const proven = [
          ...(sessionId === undefined ? [] : [bindingOfSession(sha256(sessionId))]),
          ...(flow === undefined ? [] : [bindingOfCookie(flow)]),
        ]
        const { code, location } = await receiveCallback(ctx, oauth, { ...params, query, proven })
        return location === null ? reply.send({ code }) : reply.redirect(location, 302)
      },
    )
  }
}
