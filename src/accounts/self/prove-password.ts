import { findAccessByEmail } from '../../access/store.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/db.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import type { LoginGuard } from '../parts.ts'
import { findPasswordAt, lockSignIn } from '../sessions/store.ts'
import type { Person } from './person.ts'

/** A login by password counts as proof for so long, for clients that know no field for it. */
const RECENT_MS = 5 * 60_000

export interface PasswordProof {
  readonly caller: Person
  /** From the body. */
  readonly password: string | undefined
  /** The field's name there. */
  readonly field: 'password' | 'old_password'
}

/**
 * What decides who gets into an account (password, second factor, e-mail, deletion) needs more than a
 * session or token that somebody left open: the password in the body, in the request itself (Basic),
 * or given in this session a moment ago. Follow it by lockProvedPassword() in the transaction of the change.
 *
 * @throws AppError forbidden where none was given, invalid where it is wrong, rate_limited.
 */
export async function provePassword(
  ctx: Context,
  { checkPassword }: LoginGuard,
  { caller, password, field }: PasswordProof,
): Promise<void> {
  const { via, sessionHash, email, ssoId } = caller.principal
  if (ssoId !== null) throw new AppError('invalid', 'The account is kept by an identity provider.')
  if (password !== undefined) {
    const passwordHash = (await findAccessByEmail(ctx.db, email))?.passwordHash ?? null
    if (await checkPassword({ email, passwordHash, password })) return
    throw invalidField(field, 'is wrong')
  }
  if (via === 'basic') return
  const givenAt = sessionHash === null ? null : await findPasswordAt(ctx.db, caller, sessionHash)
  if (givenAt !== null && ctx.clock.now().getTime() - givenAt.getTime() <= RECENT_MS) return
  throw new AppError('forbidden', `This needs the password: give it as ${field}, or log in again.`)
}

/**
 * Keeps the password that the caller has proved as it is until `tx` ends. Proving it and hashing another
 * take a while; a recovery in between may have been from the caller, and must last.
 *
 * @throws AppError forbidden where the password has changed since the request came.
 */
export async function lockProvedPassword(tx: Tx, caller: Person): Promise<void> {
  if ((await lockSignIn(tx, caller, caller.principal.passwordModifiedAt)) === undefined)
    throw new AppError('forbidden', 'The password was changed meanwhile. Log in again.')
}
