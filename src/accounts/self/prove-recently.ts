import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import type { LoginGuard } from '../parts.ts'
import { findProvedAt } from '../sessions/store.ts'
import type { Person } from './person.ts'
import { provePassword } from './prove-password.ts'

/** How long a sign-in, or giving the second factor again, counts as proof. */
const RECENT_MS = 15 * 60_000

/**
 * Requires a recent proof of identity. What grants access beyond this request (a token, another way to sign in) needs
 * more than a session or token that was left open: the password in the body or in the request itself (Basic), or a
 * sign-in or second factor in this session within the last 15 minutes. See docs/decisions/0015-recent-proof.md.
 *
 * @throws AppError forbidden if there is no such proof, invalid if the password is wrong, rate_limited.
 */
export async function proveRecently(
  ctx: Context,
  guard: LoginGuard,
  { caller, password }: { readonly caller: Person; readonly password: string | undefined },
): Promise<void> {
  const { via, sessionHash } = caller.principal
  if (password !== undefined) return provePassword(ctx, guard, { caller, password, field: 'password' })
  if (via === 'basic') return
  const provedAt = sessionHash === null ? null : await findProvedAt(ctx.db, caller, sessionHash)
  if (provedAt !== null && ctx.clock.now().getTime() - provedAt.getTime() <= RECENT_MS) return
  throw new AppError(
    'forbidden',
    'This needs a recent proof of who you are: give the password as password, or sign in or give the second factor within 15 minutes before',
  )
}
