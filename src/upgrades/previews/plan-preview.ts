import type { UpgradePlan } from '../../rollout/rollout.ts'
import type { NewUpgrade } from '../../rollout/store-create.ts'
import { addMs } from '../../platform/clock.ts'
import { type Estimate, type TimedDevice, planEstimate } from './plan-estimate.ts'
import { PREVIEW_MS, type PreviewPhase, type UpgradePreview } from './preview.ts'

export interface PreviewFacts {
  /** All those that are planned. */
  readonly devices: readonly TimedDevice[]
  /** Cumulative, by phase, where the request names them. */
  readonly percents: readonly number[] | null
}

/** Describes an upgrade that is not started. */
export function planPreview(upgrade: NewUpgrade, { devices, percents }: PreviewFacts): UpgradePreview {
  const { org, sites, targets } = upgrade
  const estimate = planEstimate(upgrade, devices)
  const phases = planPreviewPhases(upgrade, percents, estimate)
  const leftOut = sites.flatMap(({ notes }) => notes.flatMap(({ mac, reason }) => (mac ? [{ mac, reason }] : [])))
  const current = targets.flatMap(({ mac, state, targetVersion }) =>
    state === 'skipped' ? [{ mac, reason: `runs ${targetVersion} already` }] : [],
  )
  const siteNotes = sites.flatMap(({ siteId, notes }) =>
    notes.flatMap(({ mac, reason }) => (mac ? [] : [{ siteId, reason }])),
  )
  return {
    planId: org.id,
    expiresAt: addMs(org.createdAt, PREVIEW_MS),
    total: org.planned,
    phases,
    skipped: [...current, ...leftOut],
    stopsAfterFailures: limitOf(org.maxFailurePercentage, org.planned),
    endsAbout: estimate.endsAbout,
    notes: [...org.notes.map(({ reason }) => ({ siteId: null, reason })), ...siteNotes],
  }
}

/** The smallest number of failures that exceeds the percentage; null: not even all do. */
function limitOf(percent: number | null, total: number): number | null {
  if (percent === null || total === 0) return null
  const limit = Math.floor((percent * total) / 100) + 1
  return limit > total ? null : limit
}

function planPreviewPhases(
  { org, sites, targets }: NewUpgrade,
  percents: PreviewFacts['percents'],
  { beginsAbout }: Estimate,
): PreviewPhase[] {
  const bySite = new Map(sites.map((site) => [site.id, site]))
  const byPhase = Map.groupBy(
    targets.filter(({ state }) => state === 'planned'),
    ({ phase }) => phase,
  )
  const count = sites.reduce((most, { plan }) => Math.max(most, plan.phases), 0)
  let done = 0
  return Array.from({ length: count }, (_, index) => {
    const members = byPhase.get(index + 1) ?? []
    done += members.length
    return {
      percent: percents?.[index] ?? (org.planned === 0 ? 0 : Math.floor((100 * done) / org.planned)),
      total: members.length,
      stopsAfterFailures: phaseLimitOf(org.phasePlan?.gates ?? sites[0]?.plan.gates ?? null, index),
      sites: [...Map.groupBy(members, ({ upgradeId }) => upgradeId)].flatMap(([upgradeId, some]) => {
        const site = bySite.get(upgradeId)
        if (site === undefined) return []
        const macs = some.toSorted((a, b) => a.ordinal - b.ordinal).map(({ mac }) => mac)
        const begins = site.plan.windows === undefined ? null : beginsAbout(upgradeId, index + 1)
        return [{ siteId: site.siteId, startAt: site.startAt, beginsAbout: begins, macs }]
      }),
    }
  })
}

function phaseLimitOf(gates: UpgradePlan['gates'], index: number): number | null {
  const limit = gates?.[index]?.max_failures ?? null
  return limit === null ? null : limit + 1
}
