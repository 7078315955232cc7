import { type TargetState, isInFlight } from '../rollout.ts'
import type { TargetNow } from '../targets/target.ts'

/** True for a target that restarts, or will as soon as it may. An absent device blocks no others. */
function isAwaited({ state, device }: TargetNow): boolean {
  if (state === 'planned' || state === 'downloaded' || isInFlight(state)) return true
  return state === 'deferred' && device?.link === 'connected'
}

const downloads: ReadonlySet<TargetState> = new Set(['dl_requested', 'downloading'])

/** True for a device that is, or may be, going down. A download by itself interrupts nothing. */
function isRestarting({ state, command }: TargetNow): boolean {
  return isInFlight(state) && !(downloads.has(state) && command?.kind === 'stage')
}

/**
 * Returns which targets must not restart now: those whose dependents have not all ended, and those that depend on a device
 * that is restarting.
 * @param targets All those of the open phases that have not ended.
 */
export function findBlocked(targets: readonly TargetNow[]): (target: TargetNow) => boolean {
  const awaited = ranksOf(targets.filter(isAwaited))
  const restarting = ranksOf(targets.filter(isRestarting))
  const lowest = awaited.reduce((least, rank) => Math.min(least, rank), Infinity)
  const highest = restarting.reduce((most, rank) => Math.max(most, rank), 0)
  return ({ rank }) => rank !== null && (rank > lowest || rank < highest)
}

function ranksOf(targets: readonly TargetNow[]): number[] {
  return targets.flatMap(({ rank }) => rank ?? [])
}
