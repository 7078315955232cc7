import { uuidv7 } from '../../platform/uuidv7.ts'
import type { Actor } from '../../access/scope.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { insertAccountLogs } from '../store-log.ts'
import { deleteLoginFailuresBefore, insertLoginFailure } from './store.ts'

const KEEP_FAILURES_MS = 30 * 86_400_000

export interface TriedAccount {
  readonly adminId: string
}

/**
 * Records a wrong password or second factor for the owner of the account only: an organization has no right to see who
 * tries to sign in as one of its members. It runs after the reply, so that the response time does not reveal whether
 * the account exists. The login throttle bounds their number.
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
    await insertAccountLogs(tx, [{ adminId, message: 'Login failed', srcIp, userAgent, at }])
  }).catch((error: unknown) => ctx.log.error({ err: error }, 'could not record a failed login'))
}
