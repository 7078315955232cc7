import type { Principal } from '../../access/principal.ts'
import { self } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, ErrorReply, Uuid } from '../../http/schemas.ts'
import { coalesceReads } from '../../platform/database/coalesce.ts'
import type { Context } from '../../platform/context.ts'
import { leaveOrg } from '../admins/update-admin.ts'
import type { AccountParts, LoginGuard } from '../parts.ts'
import { clearSessionCookies } from '../sessions/cookies.ts'
import { DEFAULT_SESSION_MINUTES } from '../sessions/open-session.ts'
import { deleteSelf } from './delete-self.ts'
import { person } from './person.ts'
import { extrasByAdminIds } from './store.ts'
import { updateSelf } from './update-self.ts'
import { DeleteBody, SelfReply, UpdateBody, parseSelfChange, presentHalfSelf, presentSelf, withAdmin } from './wire.ts'

const tag = 'Accounts'

/** The caller's own account. Source: spec, "OAuth", 6; contract, Self Account. */
export function selfOperations(context: Context, parts: AccountParts, guard: LoginGuard): Operation[] {
  const present = selfPresenter(context, parts)
  return [
    operation({
      id: 'getSelf',
      summary: 'Get the account of the caller',
      method: 'GET',
      tag,
      at: self('/self', { beforeSecondFactor: true }),
      reply: SelfReply,
      run: async (_ctx, { caller: { principal } }) =>
        principal.secondFactor === 'missing' ? presentHalfSelf(principal) : present(principal),
    }),
    operation({
      id: 'updateSelf',
      summary: 'Update the account of the caller',
      method: 'PUT',
      tag,
      at: person('/self'),
      body: UpdateBody,
      reply: SelfReply,
      run: async (ctx, { scope: caller, body }) => {
        const change = parseSelfChange(body, await present(caller.principal))
        const admin = await updateSelf(ctx, { ...parts, ...guard }, { caller, change })
        return present(withAdmin(caller.principal, admin))
      },
    }),
    operation({
      id: 'deleteSelf',
      summary: 'Delete the account of the caller',
      method: 'DELETE',
      tag,
      at: person('/self'),
      body: DeleteBody,
      reply: Empty,
      run: async (ctx, { scope: caller, body, reply }) => {
        await deleteSelf(ctx, guard, { caller, password: body.password })
        clearSessionCookies(ctx, reply)
      },
    }),
    operation({
      id: 'leaveOrg',
      summary: 'Leave an organization',
      method: 'DELETE',
      tag,
      at: person('/self/orgs/:org_id'),
      params: { org_id: Uuid },
      reply: Empty,
      errors: { 404: ErrorReply },
      run: (ctx, { scope: caller, params: { org_id: orgId } }) => leaveOrg(ctx, caller, orgId),
    }),
  ].flat()
}

/**
 * Presents the account, with fields that the principal does not contain; `oauth_<provider>` is true for each linked
 * provider among the configured ones. Source: spec, "OAuth link objects".
 */
function selfPresenter({ hotDb }: Context, { settings: { oauthProviders } }: AccountParts) {
  const findExtras = coalesceReads(extrasByAdminIds(hotDb))
  return async (principal: Principal) => {
    if (principal.adminId === null) return presentSelf(principal)
    const extras = await findExtras(principal.adminId)
    const oauth = oauthProviders.map(({ name }) => [`oauth_${name}`, extras?.providers.includes(name) === true])
    const session_expiry = extras?.sessionMinutes ?? DEFAULT_SESSION_MINUTES
    return { ...presentSelf(principal), session_expiry, ...Object.fromEntries(oauth) }
  }
}
