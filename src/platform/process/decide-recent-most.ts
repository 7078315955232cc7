/** The most of a number over a recent time, by spans of this time: that of the present span and that of the one before. */
export interface RecentMost {
  /** When the present span began, by a monotonic clock. */
  readonly sinceMs: number
  readonly inSpan: number
  readonly inLastSpan: number
}

export const noneRecently: RecentMost = { sinceMs: 0, inSpan: 0, inLastSpan: 0 }

interface Moment {
  readonly value: number
  /** Monotonic milliseconds. */
  readonly nowMs: number
}

/** Adds a value. Each counts for at least one span, and for at most two. */
export function decideRecentMost(
  { sinceMs, inSpan, inLastSpan }: RecentMost,
  { value, nowMs }: Moment,
  spanMs: number,
): RecentMost {
  if (nowMs - sinceMs < spanMs) return { sinceMs, inSpan: Math.max(inSpan, value), inLastSpan }
  return { sinceMs: nowMs, inSpan: value, inLastSpan: inSpan }
}

export function recentMostOf({ inSpan, inLastSpan }: RecentMost): number {
  return Math.max(inSpan, inLastSpan)
}
