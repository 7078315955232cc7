import { holdOf } from '../gates/decide-wait.ts'
import { findHoldReason, ofDownloads } from '../gates/decide-hold.ts'
import type { Now } from '../site-upgrade-now.ts'
import { leavesDownloadPhase } from '../targets/hops/hops.ts'
import { canStage } from '../targets/steps/decide-order.ts'
import { type Step, isHardFailure } from '../rounds/decide-step.ts'
import type { CountsByPhase } from '../stops/decide-stop.ts'
import { type DownloadPlan, type SiteDownloads, type TargetState, type UpgradeHold } from '../rollout.ts'
import type { TargetNow } from '../targets/target.ts'

/** True while a phase of the downloads waits for the target. */
export function awaitsImage({ state, staged }: { readonly state: TargetState; readonly staged: boolean }): boolean {
  return (state === 'planned' && !staged) || state === 'dl_requested' || state === 'downloading'
}

/**
 * The states of a target that has installed its image, or is about to. One that was in any of them counts as having
 * fetched the image until its run ends.
 */
export const installingStates = [
  'rebooting',
  'verifying',
  'snapshotting',
  'rolling_back',
  'upgraded',
] as const satisfies readonly TargetState[]
const withImage: ReadonlySet<TargetState> = new Set([...installingStates, 'downloaded', 'reboot_requested', 'staged'])

/**
 * True if the target counts as downloaded in the phase of its download. One that lost a staged image before it rebooted
 * does so until it has to download again.
 */
export function hasImage({ state, staged, fetched }: Pick<TargetNow, 'state' | 'staged' | 'fetched'>): boolean {
  return staged || fetched || withImage.has(state)
}

/** The change of a step in the phase of its target's download. */
interface DownloadMove {
  readonly phase: number
  /** The change in the number of targets that the phase waits for. */
  readonly pending: number
  readonly failed: boolean
  /**
   * 1: the device has got its image. One that downloads and reboots in one step has it once it reboots. -1: it has lost
   * the image.
   */
  readonly downloaded: number
}

/** Lists the changes of the targets that are in phases of the downloads. */
export function listDownloadMoves(steps: readonly Step[]): DownloadMove[] {
  return steps.flatMap((step) => {
    const { target, to, staged } = step
    const { downloadPhase: phase } = target
    if (phase === null) return []
    // The images of later hops are downloaded in the phases of the reboots.
    const isOnItsWay = step.hop !== undefined && leavesDownloadPhase(target)
    const pending = Number(!isOnItsWay && awaitsImage({ state: to, staged })) - Number(awaitsImage(target))
    // A hop resets whether an image was fetched, because that was the image of another version.
    const has = isOnItsWay || hasImage({ state: to, staged, fetched: target.fetched && step.hop === undefined })
    return [{ phase, pending, failed: isHardFailure(step) && !has, downloaded: Number(has) - Number(hasImage(target)) }]
  })
}

/** The counts with those of these changes. */
export function addDownloads(
  counts: CountsByPhase,
  moves: readonly DownloadMove[],
  countOf: (move: DownloadMove) => number,
): CountsByPhase {
  const changed: Record<string, number> = { ...counts }
  for (const move of moves) {
    const count = countOf(move)
    if (count !== 0) changed[move.phase] = (changed[move.phase] ?? 0) + count
  }
  return changed
}

/** Adds the changes of a round's steps to the counters of a site upgrade. */
export function countDownloads(downloads: SiteDownloads, steps: readonly Step[]): SiteDownloads {
  const moves = listDownloadMoves(steps)
  return {
    ...downloads,
    failures: addDownloads(downloads.failures, moves, ({ failed }) => Number(failed)),
    downloaded: addDownloads(downloads.downloaded, moves, ({ downloaded }) => downloaded),
  }
}

/**
 * Returns the first phase of the reboots that waits for the images of its devices, so that a phase reboots together;
 * Infinity: none does.
 * @param targets All those of the open phases that have not ended.
 */
export function findUnreadyPhase(targets: readonly TargetNow[]): number {
  const awaiting = targets.filter((target) => {
    return target.downloadPhase !== null && awaitsImage(target) && target.device !== null && canStage(target.device)
  })
  return awaiting.reduce((first, { phase }) => Math.min(first, phase), Infinity)
}

/**
 * Opens the next phase of the downloads of a site, or returns the reason why the upgrade pauses instead; null: neither.
 * @param counted After the steps of the round.
 */
export function passDownloadGate(
  counted: SiteDownloads,
  plan: DownloadPlan,
  { now, nowMs }: Pick<Now, 'now' | 'nowMs'>,
): { readonly downloads: SiteDownloads } | { readonly hold: UpgradeHold } | null {
  const { current, gate_passed: passed, failures, downloaded: upgraded } = counted
  if (plan.scope === 'org' || current >= plan.phase_sizes.length) return null
  const reason = passed >= current ? null : findHoldReason(current, { failures, upgraded }, plan, ofDownloads)
  if (reason === null) return { downloads: { ...counted, current: current + 1 } }
  return { hold: holdOf({ by: 'gate', of: 'downloads', reason }, { now, nowMs }) }
}

/** True if no phase of the downloads that is open waits for one of these targets. */
export function haveImages(
  targets: readonly Pick<TargetNow, 'downloadPhase' | 'state' | 'staged'>[],
  { current }: Pick<SiteDownloads, 'current'>,
): boolean {
  return targets.every((target) => {
    const { downloadPhase: phase } = target
    return phase === null || phase > current || !awaitsImage(target)
  })
}
