import { findUnreadyPhase } from './decide-downloads.ts'
import { canStage } from './decide-order.ts'
import { isInFlight } from './rollout.ts'
import type { SiteUpgradeNow } from './site-upgrade-now.ts'
import type { TargetNow, TargetRules } from './target.ts'

/** Returns the rules for targets that depend on the phases that are open, and on what other devices do. */
export function phaseRulesOf(
  { downloads, currentPhase, stopping, isDue, targets }: SiteUpgradeNow,
  rebootMs: number,
): (target: TargetNow) => Pick<TargetRules, 'rebootMs' | 'mayDownload'> {
  if (downloads === null || stopping !== null) return () => ({ rebootMs, mayDownload: true })
  const mayDownload = ({ downloadPhase }: TargetNow): boolean =>
    downloadPhase === null || downloadPhase <= downloads.current
  const open = targets.filter(({ phase }) => phase <= currentPhase)
  const unready = findUnreadyPhase(open)
  const awaitsImages = (target: TargetNow): boolean => isTwoStep(target) && target.downloadPhase !== null
  // Some of the targets do not show whether a phase has all its images.
  const mustWait = (target: TargetNow): boolean => awaitsImages(target) && (!isDue || target.phase >= unready)
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
