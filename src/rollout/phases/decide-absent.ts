import type { Now, SiteUpgradeNow } from '../site-upgrade-now.ts'
import { hasEnded } from '../stops/decide-end.ts'
import { beginsWithin, findClosedUntil } from '../targets/steps/decide-window.ts'

/**
 * Lists the devices of the open phase that are absent when the upgrade is to begin with them, if connected devices of later
 * phases may take their places.
 */
export function listAbsent(
  siteUpgrade: Omit<SiteUpgradeNow, 'counts'>,
  { now, nowMs }: Pick<Now, 'now' | 'nowMs'>,
): string[] {
  const { plan, startAt, rebootAt, currentPhase: phase, targets } = siteUpgrade
  if (plan.online_first !== true || phase >= plan.phases || !siteUpgrade.isDue) return []
  const isPaused = siteUpgrade.hold !== null || siteUpgrade.stopping !== null || hasEnded(plan, now)
  if (isPaused || now < startAt || now < rebootAt) return []
  if (findClosedUntil({ nowMs, beginMs: beginsWithin(plan, { now, nowMs }) }) !== null) return []
  return targets.flatMap(({ deviceId, state, attempt, device, ...target }) =>
    target.phase === phase && state === 'planned' && attempt === 0 && device?.link === 'absent' ? [deviceId] : [],
  )
}
