import { uuidv7 } from 'uuidv7'
import { type Principal, actorName } from '../../access/principal.ts'
import type { Actor } from '../../access/scope.ts'
import { addMs } from '../../platform/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { appendAccountChange } from '../account-log.ts'
import { deleteLoginFailuresBefore, insertLoginFailure } from './store.ts'

const KEEP_FAILURES_MS = 30 * 86_400_000

export interface TriedAccount extends Pick<Principal, 'firstName' | 'lastName' | 'email'> {
  readonly adminId: string
}

/**
 * Records a wrong password or second factor for the owner of the account and for its organizations. It runs after the
 * reply, so that the response time does not reveal whether the account exists. The throttle of logins bounds how many
 * there can be.
 */
export function recordLoginFailure(
  ctx: Context,
  tried: TriedAccount,
  { srcIp, userAgent }: Pick<Actor, 'srcIp' | 'userAgent'>,
): void {
  const { adminId } = tried
  const at = ctx.clock.now()
  inTx(ctx, async (tx) => {
    await deleteLoginFailuresBefore(tx, adminId, addMs(at, -KEEP_FAILURES_MS))
    await insertLoginFailure(tx, { adminId, id: uuidv7(), srcIp, userAgent, createdAt: at })
    // Whoever tried has not proved to be the admin.
    const actor = { adminId: null, name: actorName({ ...tried, tokenName: '' }), srcIp, userAgent }
    await appendAccountChange(tx, { adminId, actor, message: 'Login failed', at })
  }).catch((error: unknown) => ctx.log.error({ err: error }, 'could not record a failed login'))
}
