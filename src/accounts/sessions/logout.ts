import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { sha256 } from '../../platform/secrets.ts'
import { deleteSession } from './store.ts'

/** Ends the session; one that is unknown has ended already. */
export async function logout(ctx: Context, sessionId: string): Promise<void> {
  await inTx(ctx, (tx) => deleteSession(tx, sha256(sessionId)))
}
