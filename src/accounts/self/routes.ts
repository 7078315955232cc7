import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Context } from '../../platform/context.ts'
import type { AccountParts } from '../parts.ts'
import { SelfReply, presentSelf } from './wire.ts'

/** The caller's own account. Source: spec, "OAuth", 6. */
export function selfRoutes(_ctx: Context, _parts: AccountParts): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/self',
      { schema: { operationId: 'getSelf', tags: ['Accounts'], response: { 200: SelfReply } } },
      async ({ caller }, reply) => reply.send(presentSelf(caller.principal)),
    )
  }
}
