import { AppError } from '../platform/errors.ts'
import { type ClosedBecause, type SignIn, decideClosed } from './decide-policy.ts'
import type { Principal } from './principal.ts'

/** Returns the organizations whose policies are closed to a person who signed in this way. */
export function listClosedOrgs(
  { privileges }: Pick<Principal, 'privileges'>,
  signIn: SignIn,
  now: Date,
): ReadonlyMap<string, ClosedBecause> {
  const closed = new Map<string, ClosedBecause>()
  for (const privilege of privileges) {
    const because = decideClosed(privilege, signIn, now)
    if (because !== null) closed.set(privilege.orgId, because)
  }
  return closed
}

/** @throws AppError forbidden if the policy of the organization closes it to the caller; unauthenticated if that was idle. */
export function assertOpen({ closedOrgs }: Pick<Principal, 'closedOrgs'>, orgId: string): void {
  const because = closedOrgs.get(orgId)
  if (because === undefined) return
  if (because === 'idle')
    throw new AppError(
      'unauthenticated',
      'The session was idle for longer than the organization allows. Sign in again.',
    )
  throw new AppError('forbidden', refusals[because])
}

const refusals = {
  second_factor:
    'The organization requires two factor authentication: enable it, then sign in with it, or use a token that was created with it.',
  password_expired: 'The organization requires a newer password: change it.',
} as const
