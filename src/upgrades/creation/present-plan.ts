import { epochS } from '../../platform/time/clock.ts'
import { canStage } from '../../rollout/targets/steps/decide-order.ts'
import type { DownloadPlan, UpgradePlan } from '../../rollout/rollout.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import type { PhasingPlan } from '../planning/plan-downloads.ts'
import type { LaterSites } from '../planning/plan-later-sites.ts'
import type { SiteTimes } from '../planning/plan-times.ts'
import { type P2pBatches, planP2p } from '../planning/plan-p2p.ts'
import { type PhasePlan, countPlaced, sizesOf } from '../planning/plan-phases.ts'
import type { TargetFacts } from '../strategies/strategy.ts'
import type { Ranks } from '../uplinks/plan-ranks.ts'

type Phased = TargetFacts & Parameters<typeof canStage>[0]

/** The parts of a site's plan that the engine needs. */
export interface PlanParts {
  readonly times: Pick<SiteTimes, 'timezone' | 'windows'>
  readonly phases: PhasePlan<Phased>
  /** The phases of the downloads; null: devices download in the phases of their reboots. */
  readonly downloads: PhasePlan<Phased> | null
  readonly scopes: Omit<PhasingPlan, 'notes'>
  readonly ranks: Ranks
  readonly maxFailurePercentage: number | null
}

/** Null if the upgrade is of the sites that it names. */
export function planLaterSites(request: UpgradeRequest, parts: Omit<PlanParts, 'times' | 'ranks'>): LaterSites | null {
  if (request.includeNew === null || request.siteIds !== 'all') return null
  const times = { timezone: 'UTC', windows: [] }
  const { start, reboot, windows } = request
  return { plan: presentPlan(request, { ...parts, times, ranks: new Map() }), start, reboot, windows }
}

export function presentPlan(request: UpgradeRequest, sitePlan: PlanParts): UpgradePlan {
  const { strategy, only, snapshot, rollback, health, endsAt } = request
  const { phases, times, scopes, ranks, maxFailurePercentage } = sitePlan
  const downloads = presentDownloads(request, sitePlan)
  const p2p = planSiteP2p(request, sitePlan)
  const has = (isOne: (target: Phased) => boolean): boolean => phases.phases.some((targets) => targets.some(isOne))
  return {
    strategy,
    phase_scope: scopes.phasing.scope,
    phases: phases.phases.length,
    phase_sizes: scopes.phasing.scope === 'org' || phases.gates !== null ? sizesOf(phases) : null,
    gates: phases.gates,
    max_failure_percentage: maxFailurePercentage,
    stages: has(canStage),
    ...(downloads !== null && { downloads }),
    // Groups have their devices, and a download phase those that have its image.
    ...(downloads === null && scopes.phasing.percents !== null && { online_first: true as const }),
    ...(ranks.size > 0 && has(({ mac }) => ranks.has(mac)) && { ranked: true as const }),
    ...(p2p !== null && p2p.maxDownloads !== null && { max_downloads: p2p.maxDownloads }),
    ...(only !== null && { only: only.part }),
    ...(snapshot && { snapshot }),
    ...(rollback && { rollback }),
    ...(health && { health }),
    planned: countPlaced(phases),
    timezone: times.timezone,
    ...(endsAt !== null && { ends_s: epochS(endsAt) }),
    ...(times.windows.length > 0 && { windows: times.windows }),
  }
}

/** Null if peer-to-peer downloads are not requested. */
export function planSiteP2p({ p2p }: UpgradeRequest, { phases }: Pick<PlanParts, 'phases'>): P2pBatches | null {
  if (p2p?.isEnabled !== true) return null
  const accessPoints = phases.phases.map((targets) => targets.filter(({ type }) => type === 'ap'))
  return planP2p(p2p, countPlaced({ phases: accessPoints }))
}

/** Null if no device of the site is in a phase of the downloads, nor may join one. */
function presentDownloads(
  request: UpgradeRequest,
  { downloads, scopes }: Pick<PlanParts, 'downloads' | 'scopes'>,
): DownloadPlan | null {
  if (downloads === null || scopes.downloads === null) return null
  if (countPlaced(downloads) === 0 && request.includeNew === null) return null
  const { gates } = downloads
  const { scope } = scopes.downloads
  const plan = { strategy: request.downloads?.strategy ?? '', scope, phase_sizes: sizesOf(downloads), gates }
  return scopes.onlyTwoSteps ? plan : { ...plan, one_step: true }
}
