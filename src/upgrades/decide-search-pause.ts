/** The interval at which an upgrade searches for devices or edge appliances that have joined. */
const INTERVAL_MS = 60_000
/** The shortest interval before the end. */
const MIN_INTERVAL_MS = 2000

/**
 * Decides when an upgrade searches next. Before its end it searches more often, after half of the remaining time, so that a short
 * upgrade searches, too. The search after the last one is due at the end, and ends the search.
 * @param endsAt When the upgrade ends by itself; null: never.
 */
export function decideSearchPause(endsAt: Date | null, now: Date): number {
  if (endsAt === null) return INTERVAL_MS
  const leftMs = Math.max(0, endsAt.getTime() - now.getTime())
  return leftMs < 2 * MIN_INTERVAL_MS ? leftMs : Math.min(INTERVAL_MS, leftMs / 2)
}
