/** The last use of a session is written at most this often. */
const TOUCH_EVERY_MS = 60_000

/**
 * Decides about a session that is used now: whether it has been idle for too long, and whether to write this use. A use
 * within a minute of a written one is not written, so an idle session lives up to a minute longer, and an active one
 * never ends.
 * @param idleMinutes Null: never.
 */
export function decideSession(
  lastSeenAt: Date | null,
  idleMinutes: number | null,
  now: Date,
): 'ended' | 'touch' | 'leave' {
  const quietMs = lastSeenAt === null ? 0 : now.getTime() - lastSeenAt.getTime()
  if (idleMinutes !== null && quietMs > idleMinutes * 60_000 + TOUCH_EVERY_MS) return 'ended'
  return lastSeenAt === null || quietMs >= TOUCH_EVERY_MS ? 'touch' : 'leave'
}

const DAY_MS = 86_400_000

/**
 * True if a password is older than its owner's organizations allow. @param expiryDays Null: passwords do not expire.
 */
export function isPasswordExpired(modifiedAt: Date | null, expiryDays: number | null, now: Date): boolean {
  return expiryDays !== null && modifiedAt !== null && now.getTime() - modifiedAt.getTime() > expiryDays * DAY_MS
}
