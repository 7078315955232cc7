import { randomBytes } from 'node:crypto'
import type { Passwords } from '../../access/password.ts'
import { findAccessByEmail } from '../../access/store.ts'
import { addMs } from '../../platform/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { AppError } from '../../platform/errors.ts'
import { sha256 } from '../../platform/secrets.ts'
import { deleteExpiredSessions, deleteSession, findSessionMinutes, insertSession } from '../store.ts'

/** The interface's default for an organization's `session_expiry`. */
const DEFAULT_SESSION_MINUTES = 1440

export interface OpenedSession {
  /** The cookie's value; only its hash is stored. */
  readonly sessionId: string
  readonly csrfToken: string
  readonly expiresAt: Date
}

/**
 * @throws AppError invalid, the same for an unknown address and a wrong password, after the same work.
 */
export async function login(
  ctx: Context,
  passwords: Passwords,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<OpenedSession> {
  const access = await findAccessByEmail(ctx.db, email.trim().toLowerCase())
  const ok = await passwords.matches(access?.passwordHash ?? null, password)
  if (!ok || access === undefined) throw new AppError('invalid', 'Invalid email or password.')
  const now = ctx.clock.now()
  const sessionId = randomBytes(32).toString('base64url')
  const expiresAt = await inTx(ctx, async (tx) => {
    await deleteExpiredSessions(tx, now)
    const minutes = (await findSessionMinutes(tx, access.adminId)) ?? DEFAULT_SESSION_MINUTES
    const expiresAt = addMs(now, minutes * 60_000)
    await insertSession(tx, { idHash: sha256(sessionId), adminId: access.adminId, createdAt: now, expiresAt })
    return expiresAt
  })
  return { sessionId, csrfToken: ctx.secrets.sign('csrf', sessionId), expiresAt }
}

/** Ends the session; one that is unknown has ended already. */
export async function logout(ctx: Context, sessionId: string): Promise<void> {
  await inTx(ctx, (tx) => deleteSession(tx, sha256(sessionId)))
}
