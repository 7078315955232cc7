import { canStage } from '../targets/steps/decide-order.ts'
import type { OrgUpgradeNow } from '../rounds/decide-org-upgrade.ts'
import type { ContinuedSite } from '../site-upgrade-now.ts'
import type { PhaseGate, UpgradeHold, UpgradeHop, UpgradePlan } from '../rollout.ts'
import type { Candidate } from '../store-candidates.ts'
import type { NewTarget } from '../store-create.ts'
import type { CountsByPhase } from '../stops/decide-stop.ts'

/** A device that an upgrade takes in. */
export interface IncludedDevice {
  /** The id of the site upgrade. */
  readonly upgradeId: string
  readonly device: Candidate
  readonly imageId: string
  readonly targetVersion: string
  /** The strings that devices report when they run it, if they differ from it. */
  readonly reported: readonly string[] | null
  /** The versions that it installs in turn; null: it gets `targetVersion` directly. */
  readonly path: readonly UpgradeHop[] | null
  readonly force: boolean
}

/** A site upgrade of a running organization upgrade, which may have ended. */
export interface IncludingSite extends ContinuedSite {
  readonly total: number
}

export interface IncludingOrg extends Pick<OrgUpgradeNow, 'planned' | 'phases' | 'downloads'> {
  readonly hold: UpgradeHold | null
}

/** The members of a site upgrade that change; it is due immediately, unless it is paused. */
export type SiteInclusion = Pick<
  IncludingSite,
  'id' | 'status' | 'hold' | 'plan' | 'currentPhase' | 'phaseOpenedMs' | 'counts' | 'downloads' | 'total'
>

/** The phase of joining devices: the last one, or a further one for each. See Phasing. */
export type Joins = 'last_phase' | 'own_phase'

export interface InclusionPlan {
  readonly sites: readonly SiteInclusion[]
  readonly targets: readonly NewTarget[]
  readonly planned: number
  /** Null: each site has its own phases. */
  readonly phases: {
    readonly sizes: readonly number[]
    readonly gates: UpgradePlan['gates']
    readonly pending: CountsByPhase
  } | null
  /** The same for the phases of the downloads. */
  readonly downloads: InclusionPlan['phases']
}

/**
 * Plans the state of an upgrade after further devices join. They come last: in the last phase, so that no canary is
 * exchanged for a device that nobody chose, or each in its own phase if the strategy upgrades few at a time. A site
 * upgrade that has ended continues.
 */
export function planInclusion(
  org: IncludingOrg,
  sites: readonly IncludingSite[],
  { devices, ...how }: InclusionOf,
): InclusionPlan {
  const bySite = Map.groupBy(devices, ({ upgradeId }) => upgradeId)
  const changes = sites.flatMap((site) => {
    const mine = bySite.get(site.id)
    return mine === undefined ? [] : [{ site, mine, inclusion: includeAt(org, site, { devices: mine, ...how }) }]
  })
  const targets = changes.flatMap(({ site, mine }) => listTargets(mine, site, how))
  const count = changes.reduce((sum, { mine }) => sum + mine.length, 0)
  return {
    sites: changes.map(({ inclusion }) => inclusion),
    targets,
    planned: org.planned + count,
    phases: org.phases && addToLast(org.phases, count),
    downloads:
      org.downloads && addToLast(org.downloads, targets.filter(({ downloadPhase }) => downloadPhase !== null).length),
  }
}

export interface InclusionOf {
  readonly devices: readonly IncludedDevice[]
  readonly joins: Joins
  /** The same for the phases of the downloads. */
  readonly downloadsJoin: Joins
  /** By MAC. Empty: restarts have no order. */
  readonly ranks: ReadonlyMap<string, number>
  readonly nowMs: number
}

function includeAt(
  org: IncludingOrg,
  site: IncludingSite,
  { devices, joins, downloadsJoin, ranks, nowMs }: InclusionOf,
): SiteInclusion {
  const { id, plan, counts, finishedAt } = site
  const { length } = devices
  const loading = devices.filter((one) => downloadsInPhases(one, plan)).length
  const included = {
    id,
    plan: {
      ...plan,
      ...addToPhases(plan, length, joins),
      phases: joins === 'last_phase' ? plan.phases : plan.phases + length,
      ...(plan.downloads !== undefined && {
        downloads: { ...plan.downloads, ...addToPhases(plan.downloads, loading, downloadsJoin) },
      }),
      ...(devices.some(({ device }) => ranks.has(device.mac)) && { ranked: true as const }),
      planned: plan.planned + length,
      stages: plan.stages || devices.some(({ device }) => canStage(device)),
    },
    counts: { ...counts, planned: counts.planned + length },
    total: site.total + length,
  }
  const { status, hold, currentPhase, phaseOpenedMs } = site
  const { downloads } = site
  if (finishedAt === null) return { ...included, status, hold, currentPhase, phaseOpenedMs, downloads }
  // A site without devices has never started.
  const hasStarted = phaseOpenedMs !== null
  return {
    ...included,
    status: hasStarted ? 'upgrading' : 'queued',
    hold: org.hold,
    // While it had ended, phases of the whole upgrade were not opened there.
    currentPhase: org.phases?.current ?? currentPhase,
    downloads: downloads && { ...downloads, current: org.downloads?.current ?? downloads.current },
    phaseOpenedMs: hasStarted ? nowMs : null,
  }
}

function listTargets(
  devices: readonly IncludedDevice[],
  { plan }: IncludingSite,
  { joins, downloadsJoin, ranks }: Omit<InclusionOf, 'devices'>,
): NewTarget[] {
  const loading = devices.filter((one) => downloadsInPhases(one, plan))
  return devices.map((one, index) => {
    const { upgradeId, device, ...installed } = one
    const { id: deviceId, mac, model, fromVersion } = device
    const downloads = plan.downloads?.phase_sizes.length ?? 0
    return {
      ...{ upgradeId, deviceId, mac, model, fromVersion },
      ...installed,
      downloadPhase: loading.includes(one) ? phaseOf(downloads, loading.indexOf(one), downloadsJoin) : null,
      phase: phaseOf(plan.phases, index, joins),
      rank: ranks.get(mac) ?? null,
      // Those that the plan skipped have no place in its order.
      ordinal: plan.planned + index + 1,
      staged: false,
      state: 'planned',
    }
  })
}

/** @param phases The number of existing phases. @param index The position of the device among those that join. */
function phaseOf(phases: number, index: number, joins: Joins): number {
  return joins === 'last_phase' ? phases : phases + index + 1
}

/** True if the device is in a phase of the downloads. */
function downloadsInPhases({ device }: IncludedDevice, { downloads }: Pick<UpgradePlan, 'downloads'>): boolean {
  return downloads !== undefined && (downloads.one_step === true || canStage(device))
}

/** Returns the phases with further devices in each. Each further phase has the gate of the last one. */
export function addToPhases<P extends Pick<UpgradePlan, 'phase_sizes' | 'gates'>>(
  { phase_sizes: sizes, gates }: P,
  count: number,
  joins: Joins,
): Pick<P, 'phase_sizes' | 'gates'> {
  if (joins === 'last_phase')
    return { phase_sizes: sizes && [...sizes.slice(0, -1), (sizes.at(-1) ?? 0) + count], gates }
  const ofEach = <T>(value: T): T[] => Array.from({ length: count }, () => value)
  return {
    phase_sizes: sizes && [...sizes, ...ofEach(1)],
    gates: gates && [...gates, ...ofEach(gates.at(-1) ?? null)],
  }
}

function addToLast(
  { sizes, gates, pending }: NonNullable<IncludingOrg['phases']>,
  count: number,
): NonNullable<InclusionPlan['phases']> {
  const last = sizes.length
  const isFirst = count > 0 && sizes.every((size) => size === 0)
  return {
    sizes: [...sizes.slice(0, -1), (sizes.at(-1) ?? 0) + count],
    gates: isFirst ? markEmptied(gates, last) : gates,
    pending: { ...pending, [last]: (pending[last] ?? 0) + count },
  }
}

/**
 * The first devices of an upgrade are in its last phase, and no other device shows the version before. So the gates before it
 * wait for their event, though their phases have no devices.
 */
export function markEmptied(gates: UpgradePlan['gates'], last: number): UpgradePlan['gates'] {
  const mark = (gate: PhaseGate | null, index: number): PhaseGate | null =>
    gate?.wait_for === undefined || index + 1 === last ? gate : { ...gate, emptied: true }
  return gates?.map(mark) ?? null
}
