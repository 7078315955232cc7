import { type Passwords, isOutdatedHash } from '../../access/authentication/password.ts'
import { findAccessByEmail } from '../../access/authentication/store.ts'
import { type AdminScope, adminScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { LimitPerOwner } from '../../platform/names/limit-per-owner.ts'
import type { LoginGuard } from '../parts.ts'
import { secondFactorKey, consumeCode } from '../second-factor/consume-code.ts'
import { guesserOf } from './known-device.ts'
import { type OpenedSession, openSession } from './open-session.ts'
import { recordLoginFailure } from './record-login-failure.ts'
import { lockSignIn, updatePasswordHash } from './store.ts'

export interface LoginRequest {
  readonly email: string
  readonly password: string
  /** The code of the second factor, from clients that send both at once. */
  readonly code: string | undefined
  readonly actor: { readonly srcIp: string; readonly userAgent: string | null }
  /** The cookie of a browser that has signed in before, as the owner of the address or as somebody else. */
  readonly device: string | undefined
}

export interface LoginParts extends LoginGuard {
  readonly passwords: Passwords
  /**
   * Makes the sign-ins of an account take turns: each would otherwise occupy a database connection while it waits for
   * the others.
   */
  readonly inTurn: LimitPerOwner
}

/** With more, sign-ins would wait for each other in the database. */
export const SIGN_INS_AT_ONCE = 2

export interface LoggedIn {
  readonly opened: OpenedSession
  readonly email: string
  readonly secondFactor: 'none' | 'missing' | 'passed'
}

/**
 * Opens a session for an address and its password, and the second factor if a code is given.
 *
 * @throws AppError invalid or rate_limited. An unknown address and a wrong password take the same work and get the same
 *   reply.
 */
export async function login(ctx: Context, parts: LoginParts, request: LoginRequest): Promise<LoggedIn> {
  const { password, actor } = request
  const email = request.email.trim().toLowerCase()
  parts.throttle.takeFrom(actor.srcIp)
  const access = await findAccessByEmail(ctx.db, email)
  const guesser = guesserOf(ctx, { email, srcIp: actor.srcIp, device: request.device })
  const passwordHash = access?.passwordHash ?? null
  const ok = await parts.checkPassword({ email, passwordHash, password, guesser })
  if (access !== undefined && !ok) recordLoginFailure(ctx, access, actor)
  if (!ok || access === undefined) throw wrongPassword()
  const owner = adminScope(access.adminId)
  parts.throttle.giveBackTo(actor.srcIp)
  await rehashPassword(ctx, parts.passwords, { owner, passwordHash: access.passwordHash, password })

  const { adminId, hasSecondFactor } = access
  if (hasSecondFactor && request.code !== undefined) parts.throttle.take(secondFactorKey(adminId))
  const turn = { owner: adminId, signal: new AbortController().signal }
  const openIt = async (tx: Tx): Promise<LoggedIn> => {
    const signIn = await lockSignIn(tx, owner, access.passwordModifiedAt)
    // The owner has recovered the account since, possibly from the sender of this password.
    if (signIn === undefined) throw wrongPassword()
    const passed = hasSecondFactor && request.code !== undefined && (await consumeCode(ctx, tx, owner, request.code))
    const secondFactor = passed ? 'passed' : signIn.totpSince !== null ? 'missing' : 'none'
    const opened = await openSession(ctx, tx, owner, { actor, secondFactor, byPassword: true })
    return { opened, email, secondFactor }
  }
  // Only callers with the right password wait here, so that guessers don't delay the owner.
  const loggedIn = await parts.inTurn(turn, () => inTx(ctx, openIt))
  if (loggedIn.secondFactor === 'passed') parts.throttle.succeed(secondFactorKey(adminId))
  else if (hasSecondFactor && request.code !== undefined) recordLoginFailure(ctx, access, actor)
  return loggedIn
}

function wrongPassword(): AppError {
  return new AppError('invalid', 'Invalid email or password')
}

/** Replaces a hash with outdated parameters while the plain password is at hand. */
async function rehashPassword(
  ctx: Context,
  passwords: Passwords,
  {
    owner,
    passwordHash,
    password,
  }: { readonly owner: AdminScope; readonly passwordHash: string | null; readonly password: string },
): Promise<void> {
  if (passwordHash === null || !isOutdatedHash(passwordHash)) return
  const better = await passwords.hash(password)
  await inTx(ctx, (tx) => updatePasswordHash(tx, owner, { from: passwordHash, to: better }))
}
