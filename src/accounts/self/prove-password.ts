import { findAccessByEmail } from '../../access/authentication/store.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/database/db.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import type { LoginGuard } from '../parts.ts'
import { findPasswordAt, lockSignIn } from '../sessions/store.ts'
import type { Person } from './person.ts'

/** How long a login by password counts as proof, for clients that have no field for the password. */
const RECENT_MS = 5 * 60_000

export interface PasswordProof {
  readonly caller: Person
  /** As given in the body. */
  readonly password: string | undefined
  /** The name of that field. */
  readonly field: 'password' | 'old_password'
}

/**
 * Requires the password. Changes that decide who can get into an account (password, second factor, e-mail address,
 * deletion) need more than a session or token that was left open: the password in the body, in the request itself
 * (Basic), or given in this session within the last minutes. Call lockProvedPassword() in the transaction of the
 * change.
 *
 * @throws AppError forbidden if no password was given, invalid if it is wrong, rate_limited.
 */
export async function provePassword(
  ctx: Context,
  { checkPassword }: LoginGuard,
  { caller, password, field }: PasswordProof,
): Promise<void> {
  const { via, sessionHash, email, ssoId } = caller.principal
  if (ssoId !== null) throw new AppError('invalid', 'An identity provider manages the account')
  if (password !== undefined) {
    const guesser = { id: sessionHash === null ? via : `session ${sessionHash.toString('hex')}`, isKnown: true }
    const passwordHash = (await findAccessByEmail(ctx.db, email))?.passwordHash ?? null
    if (await checkPassword({ email, passwordHash, password, guesser })) return
    throw invalidField(field, 'is wrong')
  }
  if (via === 'basic') return
  const givenAt = sessionHash === null ? null : await findPasswordAt(ctx.db, caller, sessionHash)
  if (givenAt !== null && ctx.clock.now().getTime() - givenAt.getTime() <= RECENT_MS) return
  throw new AppError('forbidden', `This needs the password: give it as ${field}, or log in again`)
}

/**
 * Locks the password that the caller has proved until `tx` ends. Proving it and hashing another take time; if the owner
 * has recovered the account from the caller since, the recovery must win.
 *
 * @throws AppError forbidden if the password has changed since the request arrived.
 */
export async function lockProvedPassword(tx: Tx, caller: Person): Promise<void> {
  if ((await lockSignIn(tx, caller, caller.principal.passwordModifiedAt)) === undefined)
    throw new AppError('forbidden', 'The password has changed since; log in again')
}
