import type { Caller } from '../../access/authorize.ts'
import { deleteSession } from '../../access/store-sessions.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { sha256 } from '../../platform/secrets.ts'
import { appendAccountChange } from '../account-log.ts'
import { personActor } from '../self/person.ts'

/**
 * Ends the session of the cookie; one that is unknown has ended already. A caller who has proved
 * themselves by other means (the Authorization header) ends nobody's session but their own.
 */
export async function logout(ctx: Context, caller: Caller, sessionId: string): Promise<void> {
  const { adminId, sessionHash } = caller.principal
  if (adminId === null || sessionHash === null || !sessionHash.equals(sha256(sessionId))) return
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await deleteSession(tx, sessionHash)
    await appendAccountChange(tx, { adminId, actor: personActor(caller), message: 'Logout', at })
  })
}
