import { canStage } from './decide-order.ts'
import type { OrgUpgradeNow } from './decide-org-upgrade.ts'
import type { RetriedSite } from './plan-retry.ts'
import type { UpgradeHold } from './rollout.ts'
import type { Candidate, NewTarget } from './store-create.ts'
import type { CountsByPhase } from './decide-stop.ts'

/** A device that an upgrade takes in. */
export interface IncludedDevice {
  /** The id of the site upgrade. */
  readonly upgradeId: string
  readonly device: Candidate
  readonly imageId: string
  readonly targetVersion: string
  /** What devices report that run it, if that is something else. */
  readonly reported: readonly string[]
  readonly force: boolean
}

/** A site upgrade of a running organization upgrade, which may have ended. */
export interface IncludingSite extends RetriedSite {
  readonly total: number
}

export interface IncludingOrg extends Pick<OrgUpgradeNow, 'planned' | 'phases'> {
  readonly hold: UpgradeHold | null
}

/** The members of a site upgrade that change; it is due at once, unless it is paused. */
export type SiteInclusion = Pick<
  IncludingSite,
  'id' | 'status' | 'hold' | 'plan' | 'currentPhase' | 'phaseOpenedMs' | 'counts' | 'total'
>

export interface InclusionPlan {
  readonly sites: readonly SiteInclusion[]
  readonly targets: readonly NewTarget[]
  readonly planned: number
  /** Null: each site has phases of its own. */
  readonly phases: { readonly sizes: readonly number[]; readonly pending: CountsByPhase } | null
}

/**
 * Plans what an upgrade becomes that takes in further devices. They are the last: of the last phase, so that no canary is
 * exchanged for a device that nobody chose, or each in a phase of its own where the strategy upgrades few at once. A
 * site upgrade that has ended goes on.
 * @param joins Where the devices go; see Phasing.
 */
export function planInclusion(
  org: IncludingOrg,
  sites: readonly IncludingSite[],
  { devices, joins, nowMs }: InclusionOf,
): InclusionPlan {
  const bySite = Map.groupBy(devices, ({ upgradeId }) => upgradeId)
  const changes = sites.flatMap((site) => {
    const mine = bySite.get(site.id)
    return mine === undefined ? [] : [{ site, mine, inclusion: includeAt(org, site, { devices: mine, joins, nowMs }) }]
  })
  const count = changes.reduce((sum, { mine }) => sum + mine.length, 0)
  return {
    sites: changes.map(({ inclusion }) => inclusion),
    targets: changes.flatMap(({ site, mine }) => mine.map((one, index) => targetOf(one, { site, joins, index }))),
    planned: org.planned + count,
    phases: org.phases && addToLast(org.phases, count),
  }
}

export interface InclusionOf {
  readonly devices: readonly IncludedDevice[]
  readonly joins: 'last_phase' | 'own_phase'
  readonly nowMs: number
}

function includeAt(org: IncludingOrg, site: IncludingSite, { devices, joins, nowMs }: InclusionOf): SiteInclusion {
  const { id, plan, counts, finishedAt } = site
  const { length } = devices
  const sizes = plan.phase_sizes
  const phaseSizes =
    sizes && joins === 'last_phase'
      ? [...sizes.slice(0, -1), (sizes.at(-1) ?? 0) + length]
      : sizes && [...sizes, ...devices.map(() => 1)]
  const included = {
    id,
    plan: {
      ...plan,
      phases: joins === 'last_phase' ? plan.phases : plan.phases + length,
      phase_sizes: phaseSizes,
      planned: plan.planned + length,
      stages: plan.stages || devices.some(({ device }) => canStage(device)),
    },
    counts: { ...counts, planned: counts.planned + length },
    total: site.total + length,
  }
  const { status, hold, currentPhase, phaseOpenedMs } = site
  if (finishedAt === null) return { ...included, status, hold, currentPhase, phaseOpenedMs }
  // A site without devices has never started.
  const hasStarted = phaseOpenedMs !== null
  return {
    ...included,
    status: hasStarted ? 'upgrading' : 'queued',
    hold: org.hold,
    // While it had ended, nobody opened phases of the whole upgrade there.
    currentPhase: org.phases?.current ?? currentPhase,
    phaseOpenedMs: hasStarted ? nowMs : null,
  }
}

function targetOf(
  { upgradeId, device, imageId, targetVersion, reported, force }: IncludedDevice,
  { site, joins, index }: { readonly site: IncludingSite; readonly index: number } & Pick<InclusionOf, 'joins'>,
): NewTarget {
  const { id: deviceId, mac, model, fromVersion } = device
  return {
    ...{ upgradeId, deviceId, mac, model, imageId, fromVersion, targetVersion, reported, force },
    phase: joins === 'last_phase' ? site.plan.phases : site.plan.phases + index + 1,
    ordinal: site.total + index + 1,
    staged: false,
    state: 'planned',
  }
}

function addToLast(
  { sizes, pending }: NonNullable<IncludingOrg['phases']>,
  count: number,
): NonNullable<InclusionPlan['phases']> {
  const last = sizes.length
  return {
    sizes: [...sizes.slice(0, -1), (sizes.at(-1) ?? 0) + count],
    pending: { ...pending, [last]: (pending[last] ?? 0) + count },
  }
}
