import type { TargetCounts } from '../../rollout/rollout.ts'
import { type Bucket, buckets } from '../buckets.ts'
import { decideWholeStatus } from '../../rollout/decide-whole-status.ts'
import { presentState } from '../wire.ts'
import type { LiveSite, LiveUpgrade } from './live.ts'
import { keysOf, recordOf } from '../../platform/records.ts'

/** A message about the part of an upgrade at one site. Its size does not depend on the number of devices. */
export function presentLiveSite(site: LiveSite) {
  const { id, orgUpgradeId, siteId, status, counts, total, currentPhase, upgradedByPhase, hardFailures } = site
  return {
    upgrade_id: orgUpgradeId,
    site_upgrade_id: id,
    site_id: siteId,
    status,
    ...presentState(site),
    phase: currentPhase,
    phase_upgraded: upgradedByPhase[currentPhase] ?? 0,
    phase_hard_failures: hardFailures[currentPhase] ?? 0,
    counts: presentCounts(counts, total),
  }
}

/** A message about a whole upgrade. */
export function presentLiveUpgrade(upgrade: LiveUpgrade) {
  const { id, runs, statuses, hold, sites, counts, total, phasePlan, currentPhase } = upgrade
  const present = presentCounts(counts, total)
  return {
    upgrade_id: id,
    status: decideWholeStatus({
      runs,
      statuses,
      hasResults: present.downloaded + present.upgraded + present.failed > 0,
    }),
    ...presentState({ hold, waitsUntil: null, stopReason: null }),
    sites,
    counts: present,
    ...(phasePlan !== null && { phase: currentPhase, phases: presentPhases(upgrade, phasePlan) }),
  }
}

function presentPhases(
  { upgradedByPhase, failuresByPhase }: LiveUpgrade,
  { phase_sizes: sizes }: NonNullable<LiveUpgrade['phasePlan']>,
) {
  return sizes.map((total, index) => {
    const phase = index + 1
    return { phase, total, upgraded: upgradedByPhase[phase] ?? 0, hard_failures: failuresByPhase[phase] ?? 0 }
  })
}

function presentCounts(counts: Partial<TargetCounts>, total: number): Record<Bucket | 'total', number> {
  const sumOf = (name: Bucket): number => buckets[name].reduce((sum, state) => sum + (counts[state] ?? 0), 0)
  return { ...recordOf(keysOf(buckets), sumOf), total }
}
