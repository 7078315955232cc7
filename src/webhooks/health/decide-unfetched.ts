const HOUR_MS = 3600e3

/** Many receivers fetch once a day. After a week their messages are parked. */
const UNFETCHED_MS = 24 * HOUR_MS

/** Nothing is recorded of receivers that have acknowledged a message since then: most fetch more often. */
export const UNWATCHED_MS = HOUR_MS

/** A receiver that fetches, and has acknowledged nothing for some time. */
export interface UnfetchedSigns {
  /** Since when messages wait, and the receiver has acknowledged none. */
  readonly since: Date
  /** The service time of that, if it has been recorded. */
  readonly sinceMs: number | null
}

export interface ServiceTime {
  readonly now: Date
  readonly nowMs: number
  readonly listeningSinceMs: number
}

/**
 * Decides whether a receiver has acknowledged nothing for a day in which it could have. Service time stands still while the service is
 * stopped. It is recorded in time, because a later run does not know when the former ones were: a time from before the run then begins with it.
 * @returns The service time to record; null if it fails, or if nothing is to be recorded.
 */
export function decideUnfetched(
  { since, sinceMs }: UnfetchedSigns,
  { now, nowMs, listeningSinceMs }: ServiceTime,
): { readonly isFailing: boolean; readonly recordMs: number | null } {
  const fromMs = sinceMs ?? Math.max(nowMs - (now.getTime() - since.getTime()), listeningSinceMs)
  const isFailing = nowMs - fromMs >= UNFETCHED_MS
  return { isFailing, recordMs: isFailing || sinceMs !== null ? null : fromMs }
}
