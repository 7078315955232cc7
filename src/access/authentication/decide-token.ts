/** Source: spec, "Authentication", 3, and "Limits". */
const IDLE_MS = 90 * 24 * 3600e3

export interface TokenAge {
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

/** True if the token was unused for more than 90 days, whether or not the sweep has deleted it yet. */
export function isIdleTooLong({ createdAt, lastUsedAt }: TokenAge, now: Date): boolean {
  return now.getTime() - (lastUsedAt ?? createdAt).getTime() > IDLE_MS
}

/** Returns the time before which a last use makes a token idle too long at `now`. */
export function idleSince(now: Date): Date {
  return new Date(now.getTime() - IDLE_MS)
}
