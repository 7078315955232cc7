import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Principal } from '../../access/principal.ts'
import { Empty } from '../../http/schemas.ts'
import { coalesceReads } from '../../platform/coalesce.ts'
import type { Context } from '../../platform/context.ts'
import type { AccountParts, LoginGuard } from '../parts.ts'
import { clearSessionCookies } from '../sessions/cookies.ts'
import { DEFAULT_SESSION_MINUTES } from '../sessions/open-session.ts'
import { deleteSelf } from './delete-self.ts'
import { requirePerson } from './person.ts'
import { recordExtras } from './store.ts'
import { updateSelf } from './update-self.ts'
import { DeleteBody, SelfReply, UpdateBody, parseSelfChange, presentHalfSelf, presentSelf, withAdmin } from './wire.ts'

const tags = ['Accounts']

/** The caller's own account. Source: spec, "OAuth", 6; contract, Self Account. */
export function selfRoutes(ctx: Context, parts: AccountParts, guard: LoginGuard): FastifyPluginAsyncTypebox {
  const findExtras = coalesceReads(recordExtras(ctx.hotDb))
  const providers = parts.settings.oauthProviders.map(({ name }) => name)

  /**
   * What the account record says besides the principal; `oauth_<provider>` for every configured
   * provider says whether it is linked. Source: spec, "OAuth link objects".
   */
  async function extrasOf({ adminId }: Principal): Promise<Record<string, unknown>> {
    if (adminId === null) return {}
    const extras = await findExtras(adminId)
    const oauth = providers.map((name) => [`oauth_${name}`, extras?.providers.includes(name) === true])
    return { session_expiry: extras?.sessionMinutes ?? DEFAULT_SESSION_MINUTES, ...Object.fromEntries(oauth) }
  }

  return async (http) => {
    http.get(
      '/self',
      {
        config: { beforeSecondFactor: true },
        schema: { operationId: 'getSelf', tags, response: { 200: SelfReply } },
      },
      async ({ caller: { principal } }, reply) => {
        if (principal.secondFactor === 'missing') return reply.send(presentHalfSelf(principal))
        return reply.send({ ...presentSelf(principal), ...(await extrasOf(principal)) })
      },
    )

    http.put(
      '/self',
      { schema: { operationId: 'updateSelf', tags, body: UpdateBody, response: { 200: SelfReply } } },
      async ({ caller, body }, reply) => {
        const person = requirePerson(caller)
        const request = { caller: person, change: parseSelfChange(body) }
        const principal = withAdmin(person.principal, await updateSelf(ctx, { ...parts, ...guard }, request))
        return reply.send({ ...presentSelf(principal), ...(await extrasOf(principal)) })
      },
    )

    http.delete(
      '/self',
      { schema: { operationId: 'deleteSelf', tags, body: DeleteBody, response: { 200: Empty } } },
      async ({ caller, body }, reply) => {
        await deleteSelf(ctx, guard, { caller: requirePerson(caller), password: body.password })
        clearSessionCookies(reply)
        return {}
      },
    )
  }
}
