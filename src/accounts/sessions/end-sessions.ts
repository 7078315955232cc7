import { actorOf } from '../../access/authorize.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { appendAccountChange } from '../account-log.ts'
import type { Person } from '../self/person.ts'
import { deleteSessionsOfAdmin } from './store.ts'
import { deleteSessionById } from './store-open.ts'

/** Ends one session of the caller's account. @throws AppError not_found. */
export async function endSession(ctx: Context, caller: Person, id: string): Promise<void> {
  const { adminId } = caller
  await inTx(ctx, async (tx) => {
    if (!(await deleteSessionById(tx, caller, Buffer.from(id, 'hex')))) throw notFound(id)
    const change = { message: 'End a session', at: ctx.clock.now() }
    await appendAccountChange(tx, { adminId, actor: actorOf(caller), ...change })
  })
}

/** Ends all sessions of the account but that of the caller. @returns How many there were. */
export async function endOtherSessions(ctx: Context, caller: Person): Promise<number> {
  const { adminId, principal } = caller
  return inTx(ctx, async (tx) => {
    const ended = await deleteSessionsOfAdmin(tx, caller, principal.sessionHash)
    const message = `End ${ended} other sessions`
    if (ended > 0) await appendAccountChange(tx, { adminId, actor: actorOf(caller), message, at: ctx.clock.now() })
    return ended
  })
}
