import type { DeviceType } from '../../events/device-type.ts'
import { identifyVersion } from '../../firmware/version-identity.ts'
import type { Candidate } from '../../rollout/store-candidates.ts'
import type { IncludedDevice } from '../../rollout/changes/plan-inclusion.ts'
import type { NotJoined } from '../../rollout/changes/store-included.ts'
import type { ModelVersion, OpenSite } from '../../rollout/changes/store-inclusion.ts'
import type { UpgradePart } from '../../rollout/rollout.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import { type DevicePlan, decideDevice, decideEntry, limitOne } from './plan-org-upgrade.ts'
import { bindTarget } from './plan-hops.ts'
import { skippedTarget } from './plan-targets.ts'
import { type EncodedLaterSites, type LaterSites, decodeLaterSites, encodeLaterSites } from './plan-later-sites.ts'
import { type JoiningSelection, mayJoin } from './plan-selection.ts'
import { compareVersions } from '../../firmware/version-order.ts'
import { type CatalogEntry, resolveVersion } from './plan-versions.ts'
import { limitToWindows } from './plan-windows.ts'
import type { Phasing } from '../strategies/strategy.ts'

/** A device that joins an upgrade, and its version. */
export type JoiningDevice = Omit<IncludedDevice, 'upgradeId'>

/** The filter for devices that may join an upgrade, their versions, and their place in it. */
export interface Joining extends Pick<UpgradeRequest, 'versions'> {
  readonly selection: JoiningSelection
  readonly onlyType: DeviceType | null
  readonly joins: Phasing['joins']
  /** The same for the phases of the downloads. */
  readonly downloadsJoin: Phasing['joins']
  /** Null: the whole upgrade. */
  readonly part: UpgradePart | null
  /** The plan of the upgrade for sites that are created after it; null: none. */
  readonly laterSites: LaterSites | null
}

/** Encodes for its storage which devices may join the upgrade of a request. */
export function encodeJoining(
  { versions, phasing, downloads, only }: UpgradeRequest,
  { selection, laterSites }: Pick<Joining, 'selection' | 'laterSites'>,
): Record<string, unknown> {
  const { ids, except, ...criteria } = selection
  return {
    selection: { ...criteria, ids: ids && [...ids], ...(except !== undefined && { except: [...except] }) },
    versions: versions.map((choice) => Object.assign({}, choice, { modelVersion: [...choice.modelVersion] })),
    onlyType: phasing.onlyType,
    joins: phasing.joins,
    downloadsJoin: downloads?.phasing.joins ?? 'last_phase',
    part: only?.part ?? null,
    laterSites: laterSites && encodeLaterSites(laterSites),
  }
}

/** @param document Comes from encodeJoining(). */
export function decodeJoining(document: Readonly<Record<string, unknown>>): Joining {
  const { selection, versions, laterSites = null, ...rest } = document as unknown as EncodedJoining
  const { ids, except, ...criteria } = selection
  return {
    // Upgrades that earlier versions began have neither.
    downloadsJoin: 'last_phase',
    part: null,
    ...rest,
    laterSites: laterSites && decodeLaterSites(laterSites),
    selection: { ...criteria, ids: ids && new Set(ids), ...(except !== undefined && { except: new Set(except) }) },
    versions: versions.map((choice) => Object.assign({}, choice, { modelVersion: new Map(choice.modelVersion) })),
  }
}

interface EncodedJoining extends Pick<Joining, 'onlyType' | 'joins'>, Partial<Pick<Joining, 'downloadsJoin' | 'part'>> {
  readonly laterSites?: EncodedLaterSites | null
  readonly selection: Omit<JoiningSelection, 'ids' | 'except'> & {
    readonly ids: readonly string[] | null
    readonly except?: readonly string[]
  }
  readonly versions: readonly (Omit<Joining['versions'][number], 'modelVersion'> & {
    readonly modelVersion: readonly (readonly [string, string])[]
  })[]
}

/** What is planned for devices that the request selects. */
export interface JoiningPlan {
  readonly joining: readonly JoiningDevice[]
  /** The plans of the others: they run the version already, or can't be upgraded. */
  readonly others: readonly DevicePlan<Candidate>[]
}

export interface JoiningFacts {
  readonly sites: readonly Pick<OpenSite, 'siteId' | 'windows'>[]
  readonly catalog: readonly CatalogEntry[]
  /** The versions that the upgrade installs on other devices of the same models. */
  readonly versions: readonly ModelVersion[]
}

/**
 * Chooses the devices that the request selects and that can be upgraded. They get the same version as other devices of
 * their model in this upgrade: `latest` may mean another one by now. Devices that already run it, and those that can't
 * be upgraded, don't join, and are examined again later.
 */
export function planJoining(
  joining: Joining,
  candidates: readonly Candidate[],
  { sites, catalog, versions }: JoiningFacts,
): JoiningPlan {
  const { selection, onlyType, part } = joining
  const only = part && { part }
  const known = new Map(versions.map((version) => [version.model, version]))
  const ofModel = Map.groupBy(catalog, ({ model }) => model)
  const plans = candidates
    .filter((device) => mayJoin(device, selection) && (onlyType ?? device.type) === device.type)
    .map((device) =>
      planOne(joining, device, { catalog: ofModel.get(device.model) ?? [], pinned: known.get(device.model) }),
    )
    // The downloads of a device before it joined are unknown, so it downloads again.
    .map((plan) => (part === null ? plan : limitOne(part, plan, new Map())))
  const windows = new Map(sites.map(({ siteId, windows: own }) => [siteId, { windows: own ?? [] }]))
  const limited = limitToWindows({ only }, plans, windows)
  return {
    joining: limited.flatMap((plan) =>
      plan.kind === 'upgrade' ? [{ device: plan.device, ...bindTarget(plan.entry, plan.via), force: plan.force }] : [],
    ),
    others: limited.filter(({ kind }) => kind !== 'upgrade'),
  }
}

function planOne(
  joining: Joining,
  device: Candidate,
  { catalog, pinned }: { readonly catalog: readonly CatalogEntry[]; readonly pinned: ModelVersion | undefined },
): DevicePlan<Candidate> {
  const resolved = resolveVersion(device, joining.versions, catalog)
  if (resolved.kind === 'none' || pinned === undefined) return decideDevice(joining, device, catalog)
  const { targetVersion: version, imageId, reported } = pinned
  const { entry: wanted, force } = resolved
  const running = device.fromVersion && identifyVersion(device.fromVersion, catalog)
  // The label means another version by now, so the request does not cover one that is older than the device's.
  if (wanted.version !== version && running !== null && compareVersions(running, version) > 0)
    return { kind: 'leave_out', device, reason: `runs ${running}, which is later than ${version}` }
  const minVersion = catalog.find((entry) => entry.version === version)?.minVersion ?? null
  const plan = decideEntry(device, { entry: { ...wanted, version, imageId, reported, minVersion }, force }, catalog)
  // An upgrade that only awaits devices does not keep its images.
  return plan.kind === 'upgrade' && !catalog.some((entry) => entry.imageId === imageId)
    ? { kind: 'leave_out', device, reason: `firmware ${version} for model ${device.model} was deleted` }
    : plan
}

/**
 * Plans what the record has of devices that the upgrade awaited and that don't join, as if it had been planned without the other
 * upgrades. @param awaited The ids of the site upgrades where it awaited them, by their MACs.
 */
export function planNotJoined(
  awaited: ReadonlyMap<string, string>,
  plans: readonly DevicePlan<Candidate>[],
): NotJoined {
  const placed = plans.flatMap((plan) => {
    const upgradeId = awaited.get(plan.device.mac)
    return upgradeId === undefined ? [] : [{ upgradeId, plan }]
  })
  const leftOut = placed.flatMap(({ upgradeId, plan }) =>
    plan.kind === 'leave_out' ? [{ upgradeId, note: { mac: plan.device.mac, reason: plan.reason } }] : [],
  )
  const bySite = Map.groupBy(leftOut, ({ upgradeId }) => upgradeId)
  return {
    skipped: placed.flatMap(({ upgradeId, plan }) => (plan.kind === 'skip' ? [skippedTarget(upgradeId, plan)] : [])),
    notes: new Map([...bySite].map(([upgradeId, some]) => [upgradeId, some.map(({ note }) => note)])),
  }
}
