import { findUnreadyPhase } from './decide-downloads.ts'
import { canStage } from '../targets/steps/decide-order.ts'
import { findBlocked } from './decide-ranks.ts'
import { isInFlight } from '../rollout.ts'
import type { SiteUpgradeNow } from '../site-upgrade-now.ts'
import type { TargetNow, TargetRules } from '../targets/target.ts'

/** Returns the rules for targets that depend on the open phases and on the other devices. */
export function phaseRulesOf(
  { downloads, currentPhase, stopping, isDue, targets, plan }: SiteUpgradeNow,
  rebootMs: number,
): (target: TargetNow) => Pick<TargetRules, 'rebootMs' | 'mayDownload'> {
  if ((downloads === null && plan.ranked !== true) || stopping !== null) return () => ({ rebootMs, mayDownload: true })
  const mayDownload = ({ downloadPhase }: TargetNow): boolean =>
    downloadPhase === null || downloads === null || downloadPhase <= downloads.current
  const open = targets.filter(({ phase }) => phase <= currentPhase)
  const unready = findUnreadyPhase(open)
  const awaitsImages = (target: TargetNow): boolean => isTwoStep(target) && target.downloadPhase !== null
  // A device whose download has no turn yet must not block the devices that the downloads wait for.
  const begun = open.filter((target) => isInFlight(target.state) || mayDownload(target))
  const isBlocked = findBlocked(begun)
  // The same applies to a device that has its image and waits for images of later phases of the downloads.
  const isBlockedAtDownload = findBlocked(
    begun.filter((one) => isInFlight(one.state) || !one.staged || !awaitsImages(one) || one.phase < unready),
  )
  const mustWait = (target: TargetNow): boolean => {
    const { phase, rank, downloadPhase } = target
    // A partial read shows neither whether a phase has all its images nor which devices restart.
    if (!isDue) return awaitsImages(target) || rank !== null
    if (awaitsImages(target)) return phase >= unready || isBlocked(target)
    return downloadPhase === null ? isBlocked(target) : isBlockedAtDownload(target)
  }
  return (target) => {
    const isOpen = target.phase <= currentPhase
    const waits = isOpen && !isInFlight(target.state) && mustWait(target)
    // A device that downloads and reboots in one step waits with both, and its phase of the downloads waits for it.
    const begins = !waits || isTwoStep(target)
    return { rebootMs: isOpen && !waits ? rebootMs : Infinity, mayDownload: mayDownload(target) && begins }
  }
}

function isTwoStep({ device }: TargetNow): boolean {
  return device !== null && canStage(device)
}
