import { AppError, invalidField } from '../../platform/errors.ts'
import type { Steps } from '../../platform/queues/next-turn.ts'
import { type NamedVersion, isReportOf } from '../../firmware/version-identity.ts'
import { planHops } from './plan-hops.ts'
import { findHigher } from '../../firmware/higher-version.ts'
import { findTooLow } from '../../firmware/lowest-version.ts'
import { isSelected, type Selectable } from './plan-selection.ts'
import { type CatalogEntry, findVersion, resolveVersion, versionLabels } from './plan-versions.ts'
import { canStage } from '../../rollout/targets/steps/decide-order.ts'
import type { UpgradeNote, UpgradePart } from '../../rollout/rollout.ts'
import type { UpgradeRequest, RequestedModel, RequestedVersion, UpgradeSite } from '../org-upgrade.ts'

export interface UpgradeDevice extends Selectable {
  readonly mac: string
  readonly fromVersion: string | null
  readonly memberVersions: readonly string[]
  /** The reason why it can't be upgraded; null if none is known. */
  readonly upgradeRefusal: string | null
}

export type DevicePlan<D> =
  | {
      readonly kind: 'upgrade' | 'skip'
      readonly device: D
      readonly entry: CatalogEntry
      readonly force: boolean
      /** The versions that it gets before. Absent: none. */
      readonly via?: readonly CatalogEntry[]
      /** It keeps a higher version than that of the entry. Absent: it does not. */
      readonly keepsHigher?: true
    }
  /** Meant by the request, but there is nothing to give it. */
  | { readonly kind: 'leave_out'; readonly device: D; readonly reason: string }

/** Decides about a selected device. @param catalog The versions for its model. */
export function decideDevice<D extends UpgradeDevice>(
  { versions }: Pick<UpgradeRequest, 'versions'>,
  device: D,
  catalog: readonly CatalogEntry[],
): DevicePlan<D> {
  const resolved = resolveVersion(device, versions, catalog)
  if (resolved.kind === 'none') return { kind: 'leave_out', device, reason: resolved.reason }
  return decideEntry(device, resolved, catalog)
}

/** Decides about a device that is to get the version of the entry. @param catalog The versions for its model. */
export function decideEntry<D extends UpgradeDevice>(
  device: D,
  {
    entry,
    force,
    keepsHigher = false,
  }: { readonly entry: CatalogEntry; readonly force: boolean; readonly keepsHigher?: boolean },
  catalog: readonly CatalogEntry[],
): DevicePlan<D> {
  if (runs(device, entry) && !force) return { kind: 'skip', device, entry, force }
  const higher = keepsHigher ? findHigher(device, entry, catalog) : null
  if (higher !== null) return { kind: 'leave_out', device, reason: higher }
  if (device.upgradeRefusal !== null) return { kind: 'leave_out', device, reason: device.upgradeRefusal }
  const reason = findTooLow(device, entry, catalog)
  const plan = { kind: 'upgrade', device, entry, force, ...(keepsHigher && { keepsHigher }) } as const
  if (reason === null) return plan
  const via = planHops(device, entry, catalog)
  return via === null ? { kind: 'leave_out', device, reason } : { ...plan, via }
}

/**
 * Plans the version of each selected device. A device that already runs its version is skipped, unless forced. One that
 * can't be upgraded is left out with the reason.
 * @throws AppError invalid for a version that none of its devices can have.
 */
export function* planDevicesInSteps<D extends UpgradeDevice>(
  request: Pick<UpgradeRequest, 'selection' | 'versions'>,
  devices: readonly D[],
  catalog: readonly CatalogEntry[],
): Steps<DevicePlan<D>[]> {
  const ofModel = Map.groupBy(catalog, ({ model }) => model)
  for (const choice of request.versions) refuseUnknown(choice, catalog)
  const plans: DevicePlan<D>[] = []
  for (const [index, device] of devices.entries()) {
    if (isSelected(device, request.selection))
      plans.push(decideDevice(request, device, ofModel.get(device.model) ?? []))
    if (index % DEVICES_PER_STEP === 0) yield
  }
  const named = request.versions.find(({ field }) => field !== null)
  const useless = plans.length > 0 && plans.every(({ kind }) => kind === 'leave_out')
  if (named !== undefined && useless) {
    const reasons = new Set(plans.flatMap((plan) => (plan.kind === 'leave_out' ? [plan.reason] : [])))
    throw invalidField(named.field ?? 'versions', [...reasons].slice(0, 5).join('; '))
  }
  return plans
}

const DEVICES_PER_STEP = 500

/** The images that devices have downloaded and not installed, by the id of the device. */
export type StagedImages = ReadonlyMap<string, string>

/**
 * Leaves out the devices that can't perform the only requested part of the upgrade.
 * @throws AppError invalid naming the field that limits it, if no device is left.
 */
export function limitToPart<D extends UpgradeDevice & Parameters<typeof canStage>[0]>(
  only: UpgradeRequest['only'],
  plans: readonly DevicePlan<D>[],
  staged: StagedImages,
): readonly DevicePlan<D>[] {
  if (only === null) return plans
  const limited = plans.map((plan) => limitOne(only.part, plan, staged))
  const [first] = limited
  if (first?.kind === 'leave_out' && limited.every(({ kind }) => kind === 'leave_out'))
    throw invalidField(only.field, `is -1, which no device can do: ${first.device.mac} ${first.reason}`)
  return limited
}

/** Leaves out a device that can't perform only this part of an upgrade. */
export function limitOne<D extends UpgradeDevice & Parameters<typeof canStage>[0]>(
  part: UpgradePart,
  plan: DevicePlan<D>,
  staged: StagedImages,
): DevicePlan<D> {
  if (plan.kind !== 'upgrade') return plan
  const { device, entry, via = [] } = plan
  const reason = !canStage(device)
    ? 'does not download apart from its reboot'
    : via.length > 0
      ? `must first install ${via.map(({ version }) => version).join(', then ')}, and reboot`
      : part === 'activate' && staged.get(device.id) !== entry.imageId
        ? `has not downloaded ${entry.version}`
        : null
  return reason === null ? plan : { kind: 'leave_out', device, reason }
}

/**
 * Refuses a strategy that is for one type of devices only.
 * @throws AppError invalid naming a device of another type.
 */
export function refuseOtherTypes(
  { strategy, strategyField, phasing: { onlyType } }: Pick<UpgradeRequest, 'strategy' | 'strategyField' | 'phasing'>,
  plans: readonly DevicePlan<UpgradeDevice>[],
): void {
  if (onlyType === null) return
  const others = plans.filter(({ kind, device: { type } }) => kind === 'upgrade' && type !== onlyType)
  const [first] = others
  if (first === undefined) return
  const { mac, type } = first.device
  const which = `${others.length} of the devices are of another type, for example ${mac} (${type})`
  throw invalidField(strategyField, `is ${strategy}, which is for devices of the type ${onlyType} only: ${which}`)
}

/**
 * Refuses the installation of firmware without a reboot, which no driver supports.
 * @throws AppError invalid naming a device that would reboot although the client does not allow it.
 */
export function refuseReboots(
  { reboots }: Pick<UpgradeRequest, 'reboots'>,
  plans: readonly DevicePlan<UpgradeDevice>[],
): void {
  if (reboots) return
  const rebooting = plans.filter(({ kind, device }) => kind === 'upgrade' && device.type !== 'ap')
  const [first] = rebooting
  if (first === undefined) return
  const { mac, model } = first.device
  const which = `${rebooting.length} of the devices, for example ${mac} (${model})`
  throw invalidField('reboot', `is false, but must be true: ${which}, reboot to install firmware`)
}

/** @throws AppError invalid for a selected id that is not among those of the devices, unless they may have left since they were selected. */
export function refuseUnknownDevices(
  { selection: { ids }, isAutomatic }: Pick<UpgradeRequest, 'selection' | 'isAutomatic'>,
  devices: readonly { readonly id: string }[],
): void {
  if (ids === null || isAutomatic) return
  const known = new Set(devices.map(({ id }) => id))
  const unknown = [...ids].find((id) => !known.has(id))
  if (unknown !== undefined) throw invalidField('device_ids', `there is no device ${unknown} at this site`)
}

/** @throws AppError invalid for the first model that is not among those of the organization's devices. */
export function refuseModelsNotIn(models: readonly RequestedModel[], known: ReadonlySet<string>): void {
  const unknown = models.find(({ model }) => !known.has(model))
  if (unknown === undefined) return
  throw invalidField(unknown.field, `no device of this organization is of the model ${unknown.model}`)
}

/** @throws AppError invalid for the first id that is not among those of the sites. */
export function refuseUnknownSites(siteIds: UpgradeRequest['siteIds'], sites: readonly UpgradeSite[]): void {
  if (siteIds === 'all') return
  const known = new Set(sites.map(({ id }) => id))
  const index = siteIds.findIndex((id) => !known.has(id.toLowerCase()))
  if (index < 0) return
  throw invalidField(`site_ids.${index}`, `there is no site ${siteIds[index]} in this organization`)
}

/** Returns the note of an upgrade that selects no device. */
export function noteNothingSelected(sites: number, selected: number): UpgradeNote[] {
  if (selected > 0) return []
  const why =
    sites === 0
      ? 'the organization has no site, or neither all_sites nor site_ids names one'
      : `no device of the ${sites === 1 ? 'site' : `${sites} sites`} matches device_type, models and rules`
  return [{ reason: `Nothing is selected: ${why}` }]
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

/** True if the device runs the version; on a Virtual Chassis, every member. */
function runs({ fromVersion, memberVersions }: UpgradeDevice, version: NamedVersion): boolean {
  return isReportOf(fromVersion, version) && memberVersions.every((member) => isReportOf(member, version))
}

/** One text for the record: the version if there is only one, else the requested versions. */
export function summarizeVersions(versions: ReadonlySet<string>, requested: readonly RequestedVersion[]): string {
  const [only] = versions
  if (only !== undefined && versions.size === 1) return only
  if (versions.size > 1) return [...versions].toSorted().join(', ')
  const [first] = requested
  if (first === undefined) throw new AppError('invalid', 'An upgrade needs a version')
  return first.version ?? [...first.modelVersion.values()].join(', ')
}
