import type { RolloutOptions } from './rollout.ts'

/** At sites whose devices come and go all the time, a dead device must fail all the same: it gets no more time than this. */
const MAX_GRACES = 8

/**
 * Until when a target's device is not given up for its absence. Times are service time, here and below.
 *
 * @param target `enteredMs`: when its present state began.
 * @param graces After a start of the service, for all devices; after a disturbance, for those of the site upgrade.
 */
export function graceOf(
  target: { readonly enteredMs: number },
  graces: { readonly startMs: number; readonly siteMs: number | null },
  options: RolloutOptions,
): number {
  return Math.max(graces.startMs, Math.min(graces.siteMs ?? 0, lastGraceMs(target, options)))
}

/** When the last grace of the site upgrade has ended for the target at the latest. */
export function lastGraceMs(
  { enteredMs }: { readonly enteredMs: number },
  { reconnectGraceMs }: RolloutOptions,
): number {
  return enteredMs + MAX_GRACES * reconnectGraceMs
}
