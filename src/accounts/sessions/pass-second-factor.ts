import type { Caller } from '../../access/authorize.ts'
import { adminScope } from '../../access/scope.ts'
import { deleteSession } from '../../access/authentication/store-sessions.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { LoginGuard } from '../parts.ts'
import { secondFactorKey, consumeCode } from '../second-factor/consume-code.ts'
import { endSessionsBeyond, recordLogin, sessionEnd } from './open-session.ts'
import { recordLoginFailure } from './record-login-failure.ts'
import { completeSession, incrementSecondFactorTries, lockSignIn } from './store.ts'

/** The session ends after this many wrong codes. */
const MAX_TRIES = 5

/**
 * Completes a login whose password was right. The session keeps its id, which only the person who gave the password
 * knows; clients continue with their CSRF token.
 *
 * @returns The session's new end.
 * @throws AppError unauthenticated for a wrong code or without a session, not_found if no second factor is enrolled,
 *   rate_limited after too many wrong codes in all sessions of the account.
 */
export async function passSecondFactor(
  ctx: Context,
  { throttle }: LoginGuard,
  { caller, code }: { readonly caller: Caller; readonly code: string },
): Promise<Date> {
  const { adminId, sessionHash, hasSecondFactor, passwordModifiedAt } = caller.principal
  if (adminId === null || sessionHash === null) throw wrongCode()
  if (!hasSecondFactor) throw new AppError('not_found', 'Two factor authentication is not enabled')
  const owner = adminScope(adminId)
  throttle.take(secondFactorKey(adminId))
  const now = ctx.clock.now()
  const expiresAt = await inTx(ctx, async (tx) => {
    // Lock the account before the session, as a recovery does, to avoid a deadlock.
    if ((await lockSignIn(tx, owner, passwordModifiedAt)) === undefined) return null
    const tries = await incrementSecondFactorTries(tx, owner, sessionHash)
    if (tries === undefined) return null
    if (!(await consumeCode(ctx, tx, owner, code))) {
      if (tries >= MAX_TRIES) await deleteSession(tx, sessionHash)
      return null
    }
    const end = await sessionEnd(tx, owner, now)
    await completeSession(tx, owner, { idHash: sessionHash, expiresAt: end, provedAt: now })
    const actor = { srcIp: caller.srcIp, userAgent: caller.userAgent }
    await endSessionsBeyond(ctx, tx, owner, { idHash: sessionHash, actor, secondFactorMissing: false })
    await recordLogin(tx, owner, { actor, secondFactor: 'passed', at: now })
    return end
  })
  if (expiresAt === null) {
    recordLoginFailure(ctx, { ...caller.principal, adminId }, caller)
    throw wrongCode()
  }
  throttle.succeed(secondFactorKey(adminId))
  return expiresAt
}

function wrongCode(): AppError {
  return new AppError('unauthenticated', 'Invalid two factor code')
}
