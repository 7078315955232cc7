import { counted } from '../../platform/counted.ts'
import { awaitsImage } from '../phases/decide-downloads.ts'
import { type EndCounts, countResults } from '../rounds/decide-outcome.ts'
import type { SiteUpgradeNow } from '../site-upgrade-now.ts'
import type { CountsByPhase } from '../stops/decide-stop.ts'
import { type OrgPhasePlan, type PhaseGate, type UpgradePlan, openCount } from '../rollout.ts'

/** A target of which nothing has begun, so that another upgrade may take its device over. */
export interface TakenTarget {
  readonly deviceId: string
  readonly mac: string
  /** The id of the site upgrade. */
  readonly upgradeId: string
  readonly orgUpgradeId: string
  readonly phase: number
  readonly downloadPhase: number | null
  readonly staged: boolean
  readonly state: 'planned' | 'deferred'
}

/** The reason of a target whose device another upgrade takes over. */
export function takeoverReason(by: string): string {
  return `taken over by upgrade ${by}`
}

/** The version that a device is to have in the end, or the one that it is to lose. */
export interface VersionChange {
  readonly kind: 'gets' | 'loses'
  readonly version: string
}

/** True if a device that runs the version is to have another one in the end. */
export function isChangedFrom(running: string, { kind, version }: VersionChange): boolean {
  return kind === 'gets' ? version !== running : version === running
}

/** A site upgrade that loses devices. */
export interface LosingSite extends Pick<SiteUpgradeNow, 'counts' | 'released' | 'stopping' | 'plan'> {
  readonly id: string
  readonly orgUpgradeId: string
}

/** The members of a site upgrade that a takeover changes; it is due immediately. */
export type SiteTakeover = Pick<LosingSite, 'id' | 'orgUpgradeId' | 'counts' | 'released' | 'plan'> & {
  readonly taken: number
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
export function planTakeover(sites: readonly LosingSite[], taken: readonly TakenTarget[]): SiteTakeover[] {
  const bySite = Map.groupBy(taken, ({ upgradeId }) => upgradeId)
  return sites.flatMap((site) => {
    const mine = bySite.get(site.id) ?? []
    if (mine.length === 0) return []
    const counts = takeFromCounts(site.counts, mine)
    const { downloads } = site.plan
    const plan: UpgradePlan = {
      ...site.plan,
      phase_sizes: shrinkPhases(site.plan.phase_sizes, mine),
      ...(downloads !== undefined && { downloads: shrinkDownloads(downloads, mine) }),
    }
    const { id, orgUpgradeId } = site
    const released = releaseTaken(site, mine.length)
    const ends = endAfterTakeover(openCount(counts), counts)
    return [{ id, orgUpgradeId, counts, released, plan, taken: mine.length, ends }]
  })
}

/** Returns the counts of an upgrade that loses these targets. */
export function takeFromCounts<
  C extends { readonly planned: number; readonly deferred: number; readonly cancelled: number },
>(counts: C, taken: readonly Pick<TakenTarget, 'state'>[]): C {
  const count = (state: TakenTarget['state']): number => taken.filter((target) => target.state === state).length
  return {
    ...counts,
    planned: counts.planned - count('planned'),
    deferred: counts.deferred - count('deferred'),
    cancelled: counts.cancelled + taken.length,
  }
}

/** Returns how many targets an upgrade has released after it has lost some. A stop would have ended them itself. */
export function releaseTaken({ released, stopping }: Pick<LosingSite, 'released' | 'stopping'>, taken: number): number {
  return stopping === null ? released + taken : released
}

/** Decides how an upgrade ends that has lost targets; see SiteTakeover. @param open How many targets have not ended. */
export function endAfterTakeover(open: number, counts: EndCounts): SiteTakeover['ends'] {
  if (open > 0) return null
  return countResults(counts) > 0 ? 'by_results' : 'cancelled'
}

/** Returns the phases of the downloads without these targets. */
export function shrinkDownloads<P extends OrgPhasePlan>(
  plan: P,
  taken: readonly Pick<TakenTarget, 'downloadPhase'>[],
): P {
  return shrinkPlan(
    plan,
    taken.flatMap(({ downloadPhase: phase }) => (phase === null ? [] : [{ phase }])),
  )
}

/** Returns the phases without these targets. Gates of phases that lose all their devices still wait for their event. */
export function shrinkPlan<P extends OrgPhasePlan>(plan: P, taken: readonly Pick<TakenTarget, 'phase'>[]): P {
  const { phase_sizes: before, gates } = plan
  const sizes = shrinkPhases(before, taken)
  const isEmptied = (index: number): boolean => (before[index] ?? 0) > 0 && sizes[index] === 0
  const mark = (gate: PhaseGate | null, index: number): PhaseGate | null =>
    gate?.wait_for !== undefined && isEmptied(index) ? { ...gate, emptied: true } : gate
  return { ...plan, phase_sizes: sizes, gates: gates?.map(mark) ?? null }
}

/** Returns how many targets the phases of the downloads wait for without these targets. */
export function shrinkPending(
  pending: CountsByPhase,
  taken: readonly Pick<TakenTarget, 'downloadPhase' | 'state' | 'staged'>[],
): CountsByPhase {
  const left: Record<string, number> = { ...pending }
  for (const target of taken) {
    const { downloadPhase: phase } = target
    if (phase !== null && awaitsImage(target)) left[phase] = (left[phase] ?? 0) - 1
  }
  return left
}

/** Returns the sizes of phases without these targets. */
export function shrinkPhases<S extends readonly number[] | null>(
  sizes: S,
  taken: readonly Pick<TakenTarget, 'phase'>[],
): S {
  const lost = Map.groupBy(taken, ({ phase }) => phase)
  return (sizes?.map((size, index) => size - (lost.get(index + 1)?.length ?? 0)) ?? null) as S
}

/**
 * Notes in the record of an upgrade how many devices it takes from which others.
 * @param what The name of one of its targets.
 */
export function noteTaken(
  taken: readonly Pick<TakenTarget, 'orgUpgradeId'>[],
  what = 'device',
): { readonly reason: string }[] {
  return [...Map.groupBy(taken, ({ orgUpgradeId }) => orgUpgradeId)]
    .map(([id, some]) => ({
      reason: `${counted(some.length, `${what} is`, `${what}s are`)} taken over from upgrade ${id}`,
    }))
    .toSorted((a, b) => (a.reason < b.reason ? -1 : 1))
}
