import { isPasswordExpired } from './authentication/decide-session.ts'

/** The demands of an organization on the people who use it. They apply in that organization only. */
export interface AccessPolicy {
  readonly requiresTwoFactor: boolean
  /** The age at which passwords expire; null: never. */
  readonly expiryDays: number | null
  /** A session that was idle for this long must sign in again; null: never. */
  readonly idleMinutes: number | null
}

/** How a person proved their identity. */
export interface SignIn {
  /** True if an identity provider vouches for the account: it decides about factors and passwords. */
  readonly isBySso: boolean
  /** True if a second factor was given, or, for a token, if one was enrolled when the token was created. */
  readonly hasSecondFactor: boolean
  /** When the password was set by which the person signed in; null if it was none, or is unknown. */
  readonly passwordSetAt: Date | null
  /** The organizations in which the session was idle for too long. */
  readonly idleOrgIds: readonly string[]
}

/** Why an organization is closed to a caller: `idle` needs a new sign-in, the others need more than that. */
export type ClosedBecause = 'second_factor' | 'password_expired' | 'idle'

/** Decides whether an organization is open to a person with a privilege in it; null: it is. */
export function decideClosed(
  { orgId, policy }: { readonly orgId: string; readonly policy: AccessPolicy | null },
  { isBySso, hasSecondFactor, passwordSetAt, idleOrgIds }: SignIn,
  now: Date,
): ClosedBecause | null {
  if (idleOrgIds.includes(orgId)) return 'idle'
  if (policy === null || isBySso) return null
  if (policy.requiresTwoFactor && !hasSecondFactor) return 'second_factor'
  return isPasswordExpired(passwordSetAt, policy.expiryDays, now) ? 'password_expired' : null
}
