import { awaitsImage, hasImage } from '../phases/decide-downloads.ts'
import { type EndCounts, countResults } from '../rounds/decide-outcome.ts'
import type { SiteUpgradeNow } from '../site-upgrade-now.ts'
import type { CountsByPhase } from '../stops/decide-stop.ts'
import { type OrgPhasePlan, type PhaseGate, type SiteDownloads, type UpgradePlan, openCount } from '../rollout.ts'

/** The states of targets that an upgrade may lose: it has not changed their devices yet. */
export const releasableStates = [
  'planned',
  'deferred',
  'dl_requested',
  'downloading',
  'downloaded',
  'reboot_requested',
] as const
export type ReleasableState = (typeof releasableStates)[number]

/** A target that its upgrade loses: another upgrade takes its device over, or a person excludes the device. */
export interface ReleasedTarget {
  readonly deviceId: string
  readonly mac: string
  /** The id of the site upgrade. */
  readonly upgradeId: string
  readonly orgUpgradeId: string
  readonly phase: number
  readonly downloadPhase: number | null
  readonly staged: boolean
  readonly fetched: boolean
  readonly state: ReleasableState
}

/** A site upgrade that loses devices. */
export interface LosingSite extends Pick<SiteUpgradeNow, 'counts' | 'released' | 'stopping' | 'plan' | 'downloads'> {
  readonly id: string
  readonly orgUpgradeId: string
}

/** The members of a site upgrade that change; it is due immediately. */
export type SiteRelease = Pick<LosingSite, 'id' | 'orgUpgradeId' | 'counts' | 'released' | 'plan' | 'downloads'> & {
  /** How many devices it loses. */
  readonly lost: number
  /**
   * The end of an upgrade without remaining devices: `cancelled`, or the engine's decision from its former results.
   * Null: it continues.
   */
  readonly ends: 'cancelled' | 'by_results' | null
}

/**
 * Plans the state of site upgrades that lose devices. These count as cancelled and belong to no phase any more, so the
 * numbers of a gate hold no phase without further devices.
 */
export function planRelease(sites: readonly LosingSite[], targets: readonly ReleasedTarget[]): SiteRelease[] {
  const bySite = Map.groupBy(targets, ({ upgradeId }) => upgradeId)
  return sites.flatMap((site) => {
    const mine = bySite.get(site.id) ?? []
    if (mine.length === 0) return []
    const counts = releaseCounts(site.counts, mine)
    const { downloads } = site.plan
    const plan: UpgradePlan = {
      ...site.plan,
      phase_sizes: shrinkPhases(site.plan.phase_sizes, mine),
      ...(downloads !== undefined && { downloads: shrinkDownloads(downloads, mine) }),
    }
    const { id, orgUpgradeId } = site
    const released = addReleased(site, mine.length)
    const ends = endAfterRelease(openCount(counts), counts)
    return [
      {
        ...{ id, orgUpgradeId, counts, released, plan, ends },
        downloads: site.downloads && forgetDownloaded(site.downloads, mine),
        lost: mine.length,
      },
    ]
  })
}

/** Returns the counts of an upgrade, of devices or of edge appliances, that loses these targets. */
export function releaseCounts<S extends string, C extends Readonly<Record<S | 'cancelled', number>>>(
  counts: C,
  targets: readonly { readonly state: S }[],
): C {
  const changed: Record<S | 'cancelled', number> = { ...counts }
  for (const { state } of targets) changed[state] -= 1
  changed.cancelled += targets.length
  return { ...counts, ...changed }
}

/** Returns how many targets an upgrade has released after it has lost some. A stop would have ended them itself. */
export function addReleased({ released, stopping }: Pick<LosingSite, 'released' | 'stopping'>, lost: number): number {
  return stopping === null ? released + lost : released
}

/** Decides how an upgrade ends that has lost targets; see SiteRelease. @param open How many targets have not ended. */
export function endAfterRelease(open: number, counts: EndCounts): SiteRelease['ends'] {
  if (open > 0) return null
  return countResults(counts) > 0 ? 'by_results' : 'cancelled'
}

/** Returns the phases of the downloads without these targets. */
export function shrinkDownloads<P extends OrgPhasePlan>(
  plan: P,
  targets: readonly Pick<ReleasedTarget, 'downloadPhase'>[],
): P {
  return shrinkPlan(plan, targets.flatMap(inDownloadPhase))
}

function inDownloadPhase({ downloadPhase: phase }: Pick<ReleasedTarget, 'downloadPhase'>): { phase: number }[] {
  return phase === null ? [] : [{ phase }]
}

/** Returns the phases without these targets. Gates of phases that lose all their devices still wait for their event. */
export function shrinkPlan<P extends OrgPhasePlan>(plan: P, targets: readonly Pick<ReleasedTarget, 'phase'>[]): P {
  const { phase_sizes: before, gates } = plan
  const sizes = shrinkPhases(before, targets)
  const isEmptied = (index: number): boolean => (before[index] ?? 0) > 0 && sizes[index] === 0
  const mark = (gate: PhaseGate | null, index: number): PhaseGate | null =>
    gate?.wait_for !== undefined && isEmptied(index) ? { ...gate, emptied: true } : gate
  return { ...plan, phase_sizes: sizes, gates: gates?.map(mark) ?? null }
}

/** Returns how many targets the phases of the reboots wait for without these targets. They wait for no deferred one. */
export function shrinkPending(
  pending: CountsByPhase,
  targets: readonly Pick<ReleasedTarget, 'phase' | 'state'>[],
): CountsByPhase {
  return subtract(
    pending,
    targets.filter(({ state }) => state !== 'deferred'),
  )
}

/** Does the same for the phases of the downloads. */
export function shrinkPendingDownloads(
  pending: CountsByPhase,
  targets: readonly Pick<ReleasedTarget, 'downloadPhase' | 'state' | 'staged'>[],
): CountsByPhase {
  return subtract(pending, targets.filter(awaitsImage).flatMap(inDownloadPhase))
}

/** Returns the counters of the downloads without these targets, some of which have their image. */
export function forgetDownloaded<D extends Pick<SiteDownloads, 'downloaded'>>(
  downloads: D,
  targets: readonly Pick<ReleasedTarget, 'downloadPhase' | 'state' | 'staged' | 'fetched'>[],
): D {
  return { ...downloads, downloaded: subtract(downloads.downloaded, targets.filter(hasImage).flatMap(inDownloadPhase)) }
}

function subtract(counts: CountsByPhase, targets: readonly { readonly phase: number }[]): CountsByPhase {
  const left: Record<string, number> = { ...counts }
  for (const { phase } of targets) left[phase] = (left[phase] ?? 0) - 1
  return left
}

/** Returns the sizes of phases without these targets. */
export function shrinkPhases<S extends readonly number[] | null>(
  sizes: S,
  targets: readonly Pick<ReleasedTarget, 'phase'>[],
): S {
  const lost = Map.groupBy(targets, ({ phase }) => phase)
  return (sizes?.map((size, index) => size - (lost.get(index + 1)?.length ?? 0)) ?? null) as S
}
