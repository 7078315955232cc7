import type { RolloutOptions } from '../rollout.ts'

/** At sites with frequent outages a dead device must still fail: it gets no more time than this. */
const MAX_GRACES = 8

/**
 * Returns until when a target's device is not given up for its absence. Times are service time, here and below.
 * @param target `enteredMs`: the start of its present state.
 * @param graces After a start of the service, for all devices; after a disturbance, for those of the site upgrade.
 */
export function graceOf(
  target: { readonly enteredMs: number },
  graces: { readonly startMs: number; readonly siteMs: number | null },
  options: RolloutOptions,
): number {
  return Math.max(graces.startMs, Math.min(graces.siteMs ?? 0, lastGraceMs(target, options)))
}

/** Returns the latest time at which the last grace of the site upgrade ends for the target. */
export function lastGraceMs(
  { enteredMs }: { readonly enteredMs: number },
  { reconnectGraceMs }: RolloutOptions,
): number {
  return enteredMs + MAX_GRACES * reconnectGraceMs
}
