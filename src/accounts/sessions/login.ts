import type { Passwords } from '../../access/password.ts'
import type { Actor } from '../../access/scope.ts'
import { findAccessByEmail } from '../../access/store.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { AppError } from '../../platform/errors.ts'
import { type OpenedSession, openSession } from './open-session.ts'

export interface LoginRequest {
  readonly email: string
  readonly password: string
  readonly actor: Pick<Actor, 'srcIp' | 'userAgent'>
}

/**
 * @throws AppError invalid, the same for an unknown address and a wrong password, after the same work.
 */
export async function login(
  ctx: Context,
  passwords: Passwords,
  { email, password, actor }: LoginRequest,
): Promise<OpenedSession> {
  const access = await findAccessByEmail(ctx.db, email.trim().toLowerCase())
  const ok = await passwords.matches(access?.passwordHash ?? null, password)
  if (!ok || access === undefined) throw new AppError('invalid', 'Invalid email or password.')
  return inTx(ctx, (tx) => openSession(ctx, tx, { adminId: access.adminId, actor, secondFactor: 'none' }))
}
