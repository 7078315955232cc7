import { hasEnded } from '../../rollout/stops/decide-end.ts'
import { findNextStep } from './decide-step.ts'
import type { MxedgeUpgradeNow, Now } from './decide-upgrade.ts'
import { findStartWait } from './decide-wait.ts'
import { beginsFinder, installMs } from './decide-window.ts'
import type { MxedgeTargetNow } from './target.ts'

/** Two appliances that change places. */
export interface Exchange<T extends MxedgeTargetNow = MxedgeTargetNow> {
  readonly absent: T
  readonly online: T
}

type At = Pick<Now, 'now' | 'nowMs' | 'options'>

/**
 * Lists the appliances of the open phase that are absent when the upgrade is to begin with them, if connected appliances of later
 * phases may take their places.
 */
export function listAbsent<T extends MxedgeTargetNow>(upgrade: MxedgeUpgradeNow<T>, at: At): T[] {
  const { plan, currentPhase, targets } = upgrade
  if (plan.online_first !== true || currentPhase >= plan.phases || !isAdvancing(upgrade, at)) return []
  const mayBegin = beginner(upgrade, at)
  return targets.filter(
    (target) => target.phase === currentPhase && isFresh(target) && isAbsent(target) && mayBegin(target),
  )
}

/**
 * Lets the first appliances of later phases that are connected, or expected back, and may begin take the places of those that are absent.
 * Those that run the versions by now would try out nothing.
 * @param upgrade With the targets of all phases.
 */
export function exchangePlaces<T extends MxedgeTargetNow>(
  upgrade: MxedgeUpgradeNow<T>,
  absent: readonly T[],
  at: At,
): Exchange<T>[] {
  const mayBegin = beginner(upgrade, at)
  const online = upgrade.targets.filter(
    (target) => target.phase > upgrade.currentPhase && isFresh(target) && !isAbsent(target) && mayBegin(target),
  )
  return absent.flatMap((target, place) => {
    const other = online[place]
    return other === undefined ? [] : [{ absent: target, online: other }]
  })
}

function isAdvancing(upgrade: MxedgeUpgradeNow, { now }: At): boolean {
  const { plan, hold, stopping, startAt, phaseOpenedMs } = upgrade
  if (hold !== null || stopping !== null || hasEnded(plan, now)) return false
  return phaseOpenedMs !== null || (startAt <= now && findStartWait(upgrade) === null)
}

/** True if the upgrade has not touched it yet, and has something to do there. */
function isFresh({ state, attempt, steps, appliance }: MxedgeTargetNow): boolean {
  if (state !== 'planned' || attempt > 0 || appliance === null) return false
  return !appliance.isReplaced && !appliance.hasLeft && findNextStep(appliance, steps, 0).step !== null
}

/** One that is expected back after a start of the service is not. */
function isAbsent({ appliance }: MxedgeTargetNow): boolean {
  return appliance?.link === 'absent'
}

/** Returns a function that decides whether the maintenance windows allow an appliance to install all its steps now. */
function beginner({ plan }: Pick<MxedgeUpgradeNow, 'plan'>, at: At): (target: MxedgeTargetNow) => boolean {
  const beginsAt = beginsFinder(plan, at)
  return ({ plannedSiteId, steps }) => beginsAt(plannedSiteId)(installMs(steps, at.options)) === at.nowMs
}
