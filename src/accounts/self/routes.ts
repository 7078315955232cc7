import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Context } from '../../platform/context.ts'
import { listOauthFlags } from '../oauth/list-flags.ts'
import type { AccountParts, LoginGuard } from '../parts.ts'
import { SelfReply, presentHalfSelf, presentSelf } from './wire.ts'

/** The caller's own account. Source: spec, "OAuth", 6. */
export function selfRoutes(_ctx: Context, _parts: AccountParts, _guard: LoginGuard): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/self',
      {
        config: { beforeSecondFactor: true },
        schema: { operationId: 'getSelf', tags: ['Accounts'], response: { 200: SelfReply } },
      },
      async ({ caller: { principal } }, reply) =>
        reply.send(principal.secondFactor === 'missing' ? presentHalfSelf(principal) : presentSelf(principal)),
    )
  }
}
