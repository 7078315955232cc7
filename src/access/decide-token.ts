/** Source: spec, "Authentication", 3, and "Limits". */
const IDLE_MS = 90 * 24 * 3600e3

export interface TokenAge {
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

/** True when the token was unused for more than 90 days, whether or not it has been swept away yet. */
export function isIdleTooLong({ createdAt, lastUsedAt }: TokenAge, now: Date): boolean {
  return now.getTime() - (lastUsedAt ?? createdAt).getTime() > IDLE_MS
}

/** Tokens whose last use was before this are idle too long at `now`. */
export function idleSince(now: Date): Date {
  return new Date(now.getTime() - IDLE_MS)
}
