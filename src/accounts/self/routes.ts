import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Context } from '../../platform/context.ts'
import { listOauthFlags } from '../oauth/list-flags.ts'
import type { AccountParts, LoginGuard } from '../parts.ts'
import { SelfReply, presentHalfSelf, presentSelf } from './wire.ts'

/** The caller's own account. Source: spec, "OAuth", 6. */
export function selfRoutes(ctx: Context, { settings }: AccountParts, _guard: LoginGuard): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/self',
      {
        config: { beforeSecondFactor: true },
        schema: { operationId: 'getSelf', tags: ['Accounts'], response: { 200: SelfReply } },
      },
      async ({ caller: { principal } }, reply) => {
        if (principal.secondFactor === 'missing') return reply.send(presentHalfSelf(principal))
        if (principal.adminId === null) return reply.send(presentSelf(principal))
        const oauth = await listOauthFlags(ctx.db, principal.adminId, settings.oauthProviders)
        return reply.send({ ...presentSelf(principal), ...oauth })
      },
    )
  }
}
