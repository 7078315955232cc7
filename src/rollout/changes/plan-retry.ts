import {
  findBudgetReason,
  findPhaseStopReason,
  findStopReason,
  exceedsPercentage,
  type CountsByPhase,
} from '../stops/decide-stop.ts'
import type { ContinuedSite, Now } from '../site-upgrade-now.ts'
import type { OrgPhases } from '../phases/decide-org-phases.ts'
import { ofDownloads } from '../gates/decide-hold.ts'
import { countApproved, countMissing, findInstant, findWaitingGate } from '../gates/decide-wait.ts'
import type { OrgUpgradeNow } from '../rounds/decide-org-upgrade.ts'
import { isHardReason } from '../rounds/decide-step.ts'
import type { SiteDownloads, UpgradeHold } from '../rollout.ts'

/** A failed target, as far as a retry needs it. */
export interface FailedTarget {
  readonly upgradeId: string
  readonly phase: number
  /** Null: it downloads when `phase` opens. */
  readonly downloadPhase: number | null
  /** True if it had the image when it failed, and was about to install it, or had installed it. */
  readonly hadImage: boolean
  readonly reason: string | null
}

/** Counts of targets by their state, as far as a retry changes them. */
interface RetriedCounts {
  readonly failed: number
  readonly planned: number
}

/** An upgrade with phases, running or not: of devices at a site, or of edge appliances. */
export interface RetriedUpgrade<S extends string = string, C extends RetriedCounts = RetriedCounts> {
  readonly status: S
  readonly stopping: 'failed' | 'cancelled' | null
  readonly finishedAt: Date | null
  readonly hold: UpgradeHold | null
  readonly plan: { readonly phases: number }
  readonly currentPhase: number
  readonly phaseOpenedMs: number | null
  readonly counts: C
  readonly hardFailures: CountsByPhase
}

/** The members of an upgrade that a retry changes. */
export type Reopening<S extends string, C extends RetriedCounts> = Pick<
  RetriedUpgrade<S | 'upgrading', C>,
  'status' | 'hold' | 'currentPhase' | 'phaseOpenedMs' | 'counts' | 'hardFailures'
>

export interface RetriedSite extends ContinuedSite {
  /** True if a device of it was commanded. A site that was stopped before that has no start yet. */
  readonly hasStarted: boolean
}

export interface RetriedOrg extends OrgUpgradeNow {
  readonly hold: UpgradeHold | null
}

/** The members of a site upgrade that a retry changes; it is due immediately. */
export type SiteRetry = Pick<
  RetriedSite,
  'id' | 'status' | 'hold' | 'currentPhase' | 'phaseOpenedMs' | 'counts' | 'hardFailures' | 'downloads'
>

export interface OrgRetry {
  readonly hardFailures: number
  readonly hold: UpgradeHold | null
  /** Null: each site has its own phases. */
  readonly phases: RetriedPhases | null
  /** The phases of the downloads. Null: there are none, or each site has its own. */
  readonly downloads: RetriedDownloads | null
}

interface RetriedPhases {
  readonly current: number
  readonly gatePassed: number
  readonly pending: CountsByPhase
  readonly failures: CountsByPhase
}

interface RetriedDownloads extends RetriedPhases {
  readonly downloaded: CountsByPhase
}

export interface RetryPlan {
  /** The site upgrades with retried targets. */
  readonly sites: readonly SiteRetry[]
  readonly org: OrgRetry
  /** True if the pause at the gate of the whole upgrade ends, at all sites. */
  readonly releasesAll: boolean
}

/**
 * Returns why the failed targets of an upgrade can't be retried; null: they can.
 * @param upgrade What the reason calls it.
 */
export function findRetryRefusal(
  { status, stopping, finishedAt }: Pick<RetriedUpgrade, 'status' | 'stopping' | 'finishedAt'>,
  upgrade = 'the upgrade of its site',
): string | null {
  if (status === 'cancelled' || stopping === 'cancelled') return `${upgrade} was cancelled`
  if (stopping !== null && finishedAt === null) return `${upgrade} is stopping; retry it once it has ended`
  return null
}

/**
 * Plans the changes that a retry of failed targets makes to their upgrade. They are planned again in their phases, and
 * no longer count as failures, so a gate that paused the upgrade is evaluated again once they have ended. A site
 * upgrade that has ended continues. A person's pause stays.
 * @param sites All site upgrades of the organization upgrade.
 * @param retried Failed targets of sites without a findRetryRefusal().
 */
export function planRetry(
  org: RetriedOrg,
  sites: readonly RetriedSite[],
  retried: readonly FailedTarget[],
  at: Pick<Now, 'now' | 'nowMs'>,
): RetryPlan {
  const bySite = Map.groupBy(retried, ({ upgradeId }) => upgradeId)
  const isOver = sites.every(({ finishedAt }) => finishedAt !== null)
  const hold = isOver || org.hold?.by !== 'user' ? null : org.hold
  const phases =
    org.phases &&
    retryPhases(org.phases, isOver ? at.now : null, {
      pending: addByPhase(org.phases.pending, retried, 1),
      failures: addByPhase(org.phases.failures, retried.filter(isHard), -1),
    })
  const downloads = org.downloads && retryDownloads(org.downloads, isOver ? at.now : null, retried)
  const open = { phase: phases?.current ?? null, downloadPhase: downloads?.current ?? null }
  return {
    sites: sites.flatMap((site) => {
      const mine = bySite.get(site.id)
      return mine === undefined ? [] : [retrySite(site, mine, { nowMs: at.nowMs, hold, open })]
    }),
    org: { hardFailures: org.hardFailures - retried.filter(isHard).length, hold, phases, downloads },
    releasesAll: (org.phases !== null || org.downloads !== null) && org.hold !== null && org.hold.by !== 'user',
  }
}

/**
 * Once the upgrade has ended, absent devices are given up as after its last phase, and no phase waits for another one but
 * behind an approval that nobody has given, or an instant.
 * @param endedNow The present time of an upgrade that has ended; null: it runs.
 */
function retryPhases(
  phases: OrgPhases,
  endedNow: Date | null,
  counts: Pick<RetriedPhases, 'pending' | 'failures'>,
): RetriedPhases {
  const { sizes, gates, current, gatePassed, approved } = phases
  if (endedNow === null) return { current, gatePassed, ...counts }
  const waiting = Object.entries(counts.pending).flatMap(([phase, count]) => (count > 0 ? [Number(phase)] : []))
  const last = waiting.reduce((latest, phase) => Math.max(latest, phase), 0)
  const closed = sizes.findIndex((_size, index) => {
    const phase = index + 1
    if (phase >= last) return false
    if (findInstant(phase, phases, endedNow) !== null) return true
    const gate = findWaitingGate(phase, { sizes, gates })
    return gate?.wait_for === 'approval' && countMissing(gate, countApproved(approved, phase)) > 0
  })
  return { current: closed < 0 ? sizes.length : closed + 1, gatePassed: sizes.length, ...counts }
}

function inDownloadPhase({ downloadPhase: phase }: FailedTarget): { readonly phase: number }[] {
  return phase === null ? [] : [{ phase }]
}

function retryDownloads(
  downloads: OrgPhases,
  endedNow: Date | null,
  retried: readonly FailedTarget[],
): RetriedDownloads {
  const { pending, failures, upgraded: downloaded } = downloads
  const phases = retryPhases(downloads, endedNow, {
    pending: addByPhase(pending, retried.flatMap(inDownloadPhase), 1),
    failures,
  })
  return { ...phases, ...forgetDownloads({ failures, downloaded }, retried) }
}

/** The counters of the downloads without the retried targets, each of which downloads again. */
function forgetDownloads(
  { failures, downloaded }: Pick<SiteDownloads, 'failures' | 'downloaded'>,
  retried: readonly FailedTarget[],
): Pick<SiteDownloads, 'failures' | 'downloaded'> {
  const had = retried.filter(({ hadImage }) => hadImage)
  // A device that had its image failed in the phase of its reboot.
  const failed = retried.filter((one) => isHard(one) && !one.hadImage)
  return { failures: takeOff(failures, failed), downloaded: takeOff(downloaded, had) }
}

/** No count becomes negative, even where an earlier release has counted otherwise. */
function takeOff(counts: CountsByPhase, targets: readonly FailedTarget[]): CountsByPhase {
  const left = addByPhase(counts, targets.flatMap(inDownloadPhase), -1)
  return Object.fromEntries(Object.entries(left).map(([phase, count]) => [phase, Math.max(0, count)]))
}

/** The phases of the whole upgrade that are open. Null: each site has its own. */
interface OpenPhases {
  readonly phase: number | null
  readonly downloadPhase: number | null
}

function retrySite(
  site: RetriedSite,
  retried: readonly FailedTarget[],
  { nowMs, hold, open }: { readonly nowMs: number; readonly hold: UpgradeHold | null; readonly open: OpenPhases },
): SiteRetry {
  const { id, finishedAt, plan } = site
  const reopened = planReopening(site, retried, { nowMs, hold })
  const downloads = site.downloads && {
    ...site.downloads,
    ...forgetDownloads(site.downloads, retried),
  }
  if (finishedAt === null) return { id, ...reopened, downloads }
  const downloadPhase = open.downloadPhase ?? plan.downloads?.phase_sizes.length ?? 1
  const opened = {
    status: site.hasStarted ? reopened.status : ('queued' as const),
    currentPhase: open.phase ?? plan.phases,
    downloads: downloads && { ...downloads, current: downloadPhase },
  }
  return { id, ...reopened, ...opened }
}

/**
 * Plans the state of an upgrade whose failed targets are planned again. An upgrade that has ended continues with all of
 * its phases open.
 * @param hold The pause of an ended upgrade; null: none.
 */
export function planReopening<S extends string, C extends RetriedCounts>(
  { status, counts, hardFailures, finishedAt, plan, hold: present, currentPhase, phaseOpenedMs }: RetriedUpgrade<S, C>,
  retried: readonly Pick<FailedTarget, 'phase' | 'reason'>[],
  { nowMs, hold }: { readonly nowMs: number; readonly hold: UpgradeHold | null },
): Reopening<S, C> {
  const counted = {
    counts: { ...counts, failed: counts.failed - retried.length, planned: counts.planned + retried.length },
    hardFailures: addByPhase(hardFailures, retried.filter(isHard), -1),
  }
  if (finishedAt !== null)
    return { ...counted, status: 'upgrading', hold, currentPhase: plan.phases, phaseOpenedMs: nowMs }
  const isReleased = present !== null && present.by !== 'user'
  // As after any pause, the wait for absent devices is extended.
  const waitedMs = nowMs - Math.max(phaseOpenedMs ?? nowMs, present?.since_ms ?? nowMs)
  return {
    ...counted,
    status,
    hold: isReleased ? null : present,
    currentPhase,
    phaseOpenedMs: isReleased && phaseOpenedMs !== null ? phaseOpenedMs + waitedMs : phaseOpenedMs,
  }
}

/**
 * Returns why the limits would immediately stop the upgrade again, because of the remaining failures; null: they would
 * not.
 */
export function findRetryLimit(org: RetriedOrg, sites: readonly RetriedSite[], plan: RetryPlan): string | null {
  const plans = new Map(sites.map((site) => [site.id, site.plan]))
  for (const { id, hardFailures } of plan.sites) {
    const limits = plans.get(id)
    const reason = limits === undefined ? null : findStopReason(hardFailures, limits)
    if (reason !== null) return reason
  }
  const { hardFailures, phases } = plan.org
  const overBudget = findBudgetReason(hardFailures, org.limits)
  if (overBudget !== null) return overBudget
  if (exceedsPercentage(hardFailures, org.maxFailurePercentage, org.planned))
    return `more than ${org.maxFailurePercentage} % of ${org.planned} devices in all sites failed`
  const reason = phases && findPhaseStopReason(phases.failures, org.phases?.gates ?? null)
  const { downloads } = plan.org
  return reason ?? (downloads && findPhaseStopReason(downloads.failures, org.downloads?.gates ?? null, ofDownloads))
}

function isHard({ reason }: Pick<FailedTarget, 'reason'>): boolean {
  return isHardReason(reason)
}

function addByPhase(
  counts: CountsByPhase,
  targets: readonly { readonly phase: number }[],
  step: 1 | -1,
): CountsByPhase {
  const changed: Record<string, number> = { ...counts }
  for (const { phase } of targets) changed[phase] = (changed[phase] ?? 0) + step
  return changed
}
