/** The last use of a session is written at most this often. */
const TOUCH_EVERY_MS = 60_000

/** An organization of the person whose session is used. */
interface SessionOrg {
  readonly orgId: string
  /** Null: never. */
  readonly idleMinutes: number | null
}

export interface SessionUse {
  /** `ended`: idle for too long in all organizations of the person. */
  readonly kind: 'ended' | 'touch' | 'leave'
  /** The organizations in which it was idle for too long, now or before: only a new session opens them. */
  readonly closedOrgIds: readonly string[]
}

/**
 * Decides about a session that is used now: where it has been idle for too long, and whether to write this use. A use
 * within a minute of a written one is not written, so an idle session lives up to a minute longer, and an active one
 * never ends.
 */
export function decideSession(
  { lastSeenAt, closedOrgIds }: { readonly lastSeenAt: Date | null; readonly closedOrgIds: readonly string[] },
  orgs: readonly SessionOrg[],
  now: Date,
): SessionUse {
  const quietMs = lastSeenAt === null ? 0 : now.getTime() - lastSeenAt.getTime()
  const isIdle = ({ orgId, idleMinutes }: SessionOrg): boolean =>
    closedOrgIds.includes(orgId) || (idleMinutes !== null && quietMs > idleMinutes * 60_000 + TOUCH_EVERY_MS)
  const idle = new Set([...closedOrgIds, ...orgs.filter(isIdle).map(({ orgId }) => orgId)])
  if (orgs.length > 0 && orgs.every(isIdle)) return { kind: 'ended', closedOrgIds: [...idle] }
  return { kind: lastSeenAt === null || quietMs >= TOUCH_EVERY_MS ? 'touch' : 'leave', closedOrgIds: [...idle] }
}

const DAY_MS = 86_400_000

/**
 * True if a password is older than its owner's organizations allow. @param expiryDays Null: passwords do not expire.
 */
export function isPasswordExpired(modifiedAt: Date | null, expiryDays: number | null, now: Date): boolean {
  return expiryDays !== null && modifiedAt !== null && now.getTime() - modifiedAt.getTime() > expiryDays * DAY_MS
}
