import { type Caller, actorOf } from '../../access/authorize.ts'
import { adminScope } from '../../access/scope.ts'
import { deleteSession } from '../../access/authentication/store-sessions.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { sha256 } from '../../platform/secrets.ts'
import { appendAccountChange } from '../account-log.ts'
import { customLogoutUrl } from '../sso/sso.ts'
import { findSsoOfSession } from '../sso/store.ts'

/**
 * Ends the session of the cookie. An unknown session counts as ended. A caller who authenticates in another way (by the
 * Authorization header) can't end somebody else's session.
 *
 * @returns Where the browser goes next if the session came from an SSO that sets it; else null.
 */
export async function logout(ctx: Context, caller: Caller, sessionId: string): Promise<string | null> {
  const { adminId, sessionHash } = caller.principal
  if (adminId === null || sessionHash === null || !sessionHash.equals(sha256(sessionId))) return null
  const at = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    const sso = await findSsoOfSession(tx, adminScope(adminId), sessionHash)
    await deleteSession(tx, sessionHash)
    await appendAccountChange(tx, { adminId, actor: actorOf(caller), message: 'Logout', at })
    return sso === undefined ? null : customLogoutUrl(sso)
  })
}
