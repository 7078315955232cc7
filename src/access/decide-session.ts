/** How often the last use of a session is written at most. */
const TOUCH_EVERY_MS = 60_000

/**
 * What becomes of a session that is used now: whether it has been idle for too long, or whether this
 * use is to be written. Uses within a minute of a written one are not, so an idle session lives up to
 * a minute longer and an active one is never ended.
 *
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

/** Whether a password is older than the organizations of its owner allow. @param expiryDays Null: none grows old. */
export function isPasswordExpired(modifiedAt: Date | null, expiryDays: number | null, now: Date): boolean {
  return expiryDays !== null && modifiedAt !== null && now.getTime() - modifiedAt.getTime() > expiryDays * DAY_MS
}
