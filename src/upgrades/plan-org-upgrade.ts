import { AppError, invalidField } from '../platform/errors.ts'
import { isSelected, type Selectable } from '../rollout/plan-selection.ts'
import { PAST_TOLERANCE_MS, findZone, resolveStartTime, utcZone } from '../rollout/plan-start.ts'
import { type CatalogEntry, findVersion, resolveVersion, versionLabels } from '../rollout/plan-versions.ts'
import type { UpgradeNote } from '../rollout/rollout.ts'
import type { OrgUpgradeRequest, RequestedTime, RequestedVersion, UpgradeSite } from './org-upgrade.ts'

export interface SiteTimes {
  readonly startAt: Date
  readonly rebootAt: Date
  readonly timezone: string
  readonly warnings: readonly UpgradeNote[]
}

/**
 * When each site starts and reboots, by its own clocks.
 * @throws AppError invalid listing the sites where a local time has gone by.
 */
export function planTimes(
  { start, reboot }: Pick<OrgUpgradeRequest, 'start' | 'reboot'>,
  sites: readonly UpgradeSite[],
  now: Date,
): Map<string, SiteTimes> {
  for (const requested of [start, reboot]) if (requested !== null) refusePast(requested, sites, now)
  return new Map(
    sites.map((site) => {
      const zone = findZone(site.timezone)
      const startAt = latest(now, start === null ? now : resolveStartTime(start.time, zone ?? utcZone))
      const rebootAt = latest(startAt, reboot === null ? startAt : resolveStartTime(reboot.time, zone ?? utcZone))
      const warnings = zone === null ? [{ reason: `unknown time zone "${site.timezone}", taken as UTC` }] : []
      return [site.id, { startAt, rebootAt, timezone: zone?.name ?? 'UTC', warnings }]
    }),
  )
}

function refusePast({ field, time }: RequestedTime, sites: readonly UpgradeSite[], now: Date): void {
  if (time.kind === 'instant') return
  const late = sites.filter((site) => {
    const at = resolveStartTime(time, findZone(site.timezone) ?? utcZone)
    return now.getTime() - at.getTime() > PAST_TOLERANCE_MS
  })
  if (late.length === 0) return
  const named = late.map((site) => `${site.name} (${site.timezone})`).join(', ')
  throw invalidField(field, `has gone by already at ${named}`)
}

function latest(a: Date, b: Date): Date {
  return a > b ? a : b
}

export interface UpgradeDevice extends Selectable {
  readonly mac: string
  readonly fromVersion: string | null
  readonly memberVersions: readonly string[]
}

export type DevicePlan<D> =
  | { readonly kind: 'upgrade' | 'skip'; readonly device: D; readonly entry: CatalogEntry; readonly force: boolean }
  /** Meant by the request, but there is nothing to give it. */
  | { readonly kind: 'leave_out'; readonly device: D; readonly reason: string }

/**
 * What each device that is meant gets. One that runs its version already is skipped, unless forced.
 * @throws AppError invalid for a version that none of the devices it is for can have.
 */
export function planDevices<D extends UpgradeDevice>(
  request: Pick<OrgUpgradeRequest, 'selection' | 'versions'>,
  devices: readonly D[],
  catalog: readonly CatalogEntry[],
): DevicePlan<D>[] {
  const ofModel = Map.groupBy(catalog, ({ model }) => model)
  for (const choice of request.versions) refuseUnknown(choice, catalog)
  const plans = devices
    .filter((device) => isSelected(device, request.selection))
    .map((device): DevicePlan<D> => {
      const resolved = resolveVersion(device, request.versions, ofModel.get(device.model) ?? [])
      if (resolved.kind === 'none') return { kind: 'leave_out', device, reason: resolved.reason }
      const { entry, force } = resolved
      return { kind: runs(device, entry.version) && !force ? 'skip' : 'upgrade', device, entry, force }
    })
  const named = request.versions.find(({ field }) => field !== null)
  const useless = plans.length > 0 && plans.every(({ kind }) => kind === 'leave_out')
  if (named !== undefined && useless) {
    const reasons = new Set(plans.flatMap((plan) => (plan.kind === 'leave_out' ? [plan.reason] : [])))
    throw invalidField(named.field ?? 'versions', [...reasons].slice(0, 5).join('; '))
  }
  return plans
}

function refuseUnknown({ field, version, modelVersion }: RequestedVersion, catalog: readonly CatalogEntry[]): void {
  if (field === null) return
  for (const [model, wanted] of modelVersion) {
    if (findVersion(catalog, model, wanted) === undefined)
      throw invalidField(`${field}.model_version.${model}`, `there is no firmware ${wanted} for model ${model}`)
  }
  if (version === null || versionLabels.has(version)) return
  if (!catalog.some((entry) => entry.version === version))
    throw invalidField(field, `there is no firmware ${version} in the catalog`)
}

/** On a Virtual Chassis, every member. */
function runs({ fromVersion, memberVersions }: UpgradeDevice, version: string): boolean {
  return fromVersion === version && memberVersions.every((member) => member === version)
}

/** One text for the record: the version if it is one, else what was asked for. */
export function summarizeVersions(targets: readonly string[], requested: readonly RequestedVersion[]): string {
  const versions = new Set(targets)
  const [only] = versions
  if (only !== undefined && versions.size === 1) return only
  if (versions.size > 1) return [...versions].toSorted().join(', ')
  const [first] = requested
  if (first === undefined) throw new AppError('invalid', 'an upgrade needs a version')
  return first.version ?? [...first.modelVersion.values()].join(', ')
}
