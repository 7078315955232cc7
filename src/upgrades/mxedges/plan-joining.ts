import type { CatalogPackage } from '../../firmware/packages/package.ts'
import { fitsDistro } from '../../firmware/packages/resolve-package.ts'
import type { MxedgeUpgrade } from '../../mxedges/upgrades/store-records.ts'
import type { InstalledPackage, JoiningLook, UpgradeExtent } from '../../mxedges/upgrades/store-inclusion.ts'
import type { PlaceWindows } from '../../mxedges/upgrades/upgrade.ts'
import { type Joins, addToPhases, markEmptied } from '../../rollout/changes/plan-inclusion.ts'
import {
  type PlannedMxedge,
  type PlannedTarget,
  noteServices,
  noteSkipped,
  skipReasonOf,
} from './plan-mxedge-upgrade.ts'
import type { MxedgeUpgradeRequest } from './request.ts'

/** The filter for joining appliances, and their place in the upgrade. */
export interface MxedgeJoining extends Pick<
  MxedgeUpgradeRequest,
  'channel' | 'distro' | 'versions' | 'downgrades' | 'windows'
> {
  readonly joins: Joins
}

/** Encodes for its storage which appliances may join the upgrade of a request; null: none. */
export function encodeJoining({
  includeNew,
  channel,
  distro,
  versions,
  downgrades,
  windows,
  phasing: { joins },
}: MxedgeUpgradeRequest): Record<string, unknown> | null {
  return includeNew ? { channel, distro, versions: [...versions], downgrades: [...downgrades], windows, joins } : null
}

/** @param document Comes from encodeJoining(). */
export function decodeJoining(document: Readonly<Record<string, unknown>>): MxedgeJoining {
  const { versions, downgrades, ...rest } = document as unknown as Omit<MxedgeJoining, 'versions' | 'downgrades'> & {
    readonly versions: ConstructorParameters<typeof Map>[0]
    readonly downgrades: readonly string[]
  }
  return {
    ...rest,
    versions: new Map(versions) as MxedgeJoining['versions'],
    downgrades: new Set(downgrades) as MxedgeJoining['downgrades'],
  }
}

/**
 * Limits the catalog, for an appliance that joins, to the packages that others have got in the upgrade: `latest` may
 * mean another one by now. Services of which none fits its distribution are as in a new upgrade.
 */
export function pinPackages(
  catalog: readonly CatalogPackage[],
  imageIds: ReadonlySet<string>,
  distro: string | null,
): CatalogPackage[] {
  const pinned = catalog.filter((entry) => imageIds.has(entry.imageId) && fitsDistro(entry, distro))
  const services = new Set(pinned.map((entry) => entry.package))
  return catalog.filter((entry) => !services.has(entry.package) || pinned.includes(entry))
}

/**
 * Returns the versions that joining appliances get, by service. Where the catalog has none of the packages that the upgrade has
 * installed, `latest` would be another version: an upgrade that only awaits appliances does not keep its packages.
 */
export function pinVersions(
  versions: MxedgeJoining['versions'],
  installed: readonly InstalledPackage[],
  catalog: readonly CatalogPackage[],
): MxedgeJoining['versions'] {
  const images = new Set(catalog.map((entry) => entry.imageId))
  const ofService = Map.groupBy(installed, ({ service }) => service)
  return new Map(
    [...versions].map(([service, wanted]) => {
      const packages = ofService.get(service) ?? []
      const [deleted] = packages.some(({ imageId }) => images.has(imageId)) ? [] : packages
      return [service, deleted?.version ?? wanted]
    }),
  )
}

/** The changed members of the upgrade, and its further targets. */
export interface MxedgeInclusion extends Pick<MxedgeUpgrade, 'plan' | 'counts' | 'notes' | 'status' | 'phaseOpenedMs'> {
  readonly targets: readonly PlannedTarget[]
  /** Why targets are skipped by now, by the ids of the appliances, where that has changed, or no note says so. */
  readonly skipReasons: ReadonlyMap<string, string>
}

export interface InclusionFacts extends Pick<JoiningLook, 'skipped'> {
  readonly joins: Joins
  /** Those for which there is nothing to do. */
  readonly idle: readonly PlannedMxedge[]
  readonly extent: UpgradeExtent
  /** The maintenance windows of sites that the plan does not have yet. */
  readonly places: readonly PlaceWindows[]
  /** Service time. */
  readonly nowMs: number
}

type Including = Pick<MxedgeUpgrade, 'plan' | 'counts' | 'notes' | 'status' | 'phaseOpenedMs' | 'finishedAt'>

/**
 * Plans the state of an upgrade after further appliances join. They come last in the last phase, or each has its own
 * phase. Members of a cluster are in separate waves. An upgrade that has ended continues. Skipped targets that stay skipped
 * have their present reason.
 */
export function planMxedgeInclusion(
  { plan, counts, notes, status, phaseOpenedMs, finishedAt }: Including,
  joining: readonly PlannedMxedge[],
  { joins, idle, extent, places, skipped, nowMs }: InclusionFacts,
): MxedgeInclusion {
  const waves = new Map<string, number>()
  const targets = joining.map(({ appliance, steps }, index): PlannedTarget => {
    const ordinal = extent.lastOrdinal + index + 1
    if (joins === 'own_phase')
      return { appliance, steps, phase: plan.phases + index + 1, wave: 1, ordinal, reason: null }
    const key = appliance.clusterId ?? appliance.id
    const wave = (waves.get(key) ?? extent.lastWave) + 1
    waves.set(key, wave)
    return { appliance, steps, phase: plan.phases, wave, ordinal, reason: null }
  })
  // Callers pass whole rows, of which nothing else is to be written.
  const standing = { status, phaseOpenedMs }
  const count = targets.length
  const isFirst = count > 0 && plan.phase_sizes.every((size) => size === 0)
  const joined = new Set(joining.map(({ appliance }) => appliance.id))
  // An appliance that failed to join lost its note.
  const noted = new Set(notes.map((note) => note.mxedge_id))
  const staying = idle.flatMap(({ appliance, reasons }) => {
    const [before, reason] = [skipped.get(appliance.id), skipReasonOf(reasons)]
    const isRecorded = before === reason && noted.has(appliance.id)
    return before === undefined || isRecorded ? [] : [{ appliance, reason }]
  })
  const skipReasons = new Map(staying.map(({ appliance, reason }) => [appliance.id, reason]))
  return {
    targets,
    skipReasons,
    ...(finishedAt === null ? standing : continueAt(standing, nowMs)),
    plan: {
      ...plan,
      ...addToPhases(isFirst ? { ...plan, gates: markEmptied(plan.gates, plan.phases) } : plan, count, joins),
      phases: joins === 'last_phase' ? plan.phases : plan.phases + count,
      planned: plan.planned + count,
      ...(places.length > 0 && { windows: [...(plan.windows ?? []), ...places] }),
    },
    counts: {
      ...counts,
      planned: counts.planned + count,
      skipped: counts.skipped - [...joined].filter((id) => skipped.has(id)).length,
    },
    notes: [
      ...notes.filter(({ mxedge_id: id }) => id === undefined || (!joined.has(id) && !skipReasons.has(id))),
      ...staying.map(noteSkipped),
      ...joining.flatMap(noteServices),
    ],
  }
}

/** An upgrade that had no appliance has never begun. Absent appliances are awaited from now on. */
function continueAt(
  { phaseOpenedMs }: Pick<Including, 'phaseOpenedMs'>,
  nowMs: number,
): Pick<MxedgeInclusion, 'status' | 'phaseOpenedMs'> {
  return phaseOpenedMs === null ? { status: 'queued', phaseOpenedMs } : { status: 'upgrading', phaseOpenedMs: nowMs }
}
