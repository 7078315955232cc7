import { type Static, Type } from 'typebox'
import { type Conditions, filterQuery, parseFilters } from '../../http/lists/filters.ts'
import { pageQuery } from '../../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import { buckets } from '../buckets.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import { previewFields } from '../previews/wire.ts'
import { fieldsOf, strategies } from '../strategies/index.ts'
import { parseOrgUpgrade } from '../wire-parse.ts'
import {
  EpochS,
  NotesReply,
  TargetsReply,
  awaitedField,
  commonFields,
  presentAwaited,
  presentNotes,
  presentState,
  presentTargets,
  stateFields,
  strategyFieldsOf,
  strategyOf,
  waitField,
} from '../wire.ts'
import { siteUpgradeFilters, statuses } from './filters.ts'
import { endField, nameField, presentName, supersedeField, windowFields } from '../wire-extensions.ts'
import type { SiteUpgradeDetail, SiteUpgradeItem } from './site-upgrade.ts'
import type { DeviceUpgrade } from './upgrade-device.ts'

const Version = Type.String({ minLength: 1, maxLength: 200 })

/** Fields that requests for a site and for a device share. Access points reboot whatever the value of `reboot`. */
const rebootFields = {
  reboot: Type.Optional(Type.Boolean({ default: false })),
  reboot_at: Type.Optional(EpochS),
  snapshot: commonFields.snapshot,
  start_time: Type.Optional(EpochS),
}

const { all_sites: _all, site_ids: _sites, ...siteFields } = commonFields

/** Source: contract, `upgrade_site_devices`. The other fields of an organization's upgrade are accepted too. */
export const SiteUpgradeBody = named(
  'SiteUpgradeCreate',
  Type.Object({
    ...siteFields,
    device_ids: Type.Optional(Type.Array(Uuid, { maxItems: 10_000 })),
    version: Type.Optional(Version),
    strategy: Type.Optional(Type.Enum(strategyOf(strategies).enum, { default: 'big_bang' })),
    ...strategyFieldsOf(strategies),
    ...rebootFields,
    ...fieldsOf(strategies),
  }),
)
export type SiteUpgradeBody = Static<typeof SiteUpgradeBody>

/** Source: contract, `device_upgrade`. */
export const DeviceUpgradeBody = named(
  'DeviceUpgradeCreate',
  Type.Object({
    version: Version,
    ...nameField,
    ...rebootFields,
    ...previewFields,
    ...windowFields,
    ...endField,
    ...supersedeField,
  }),
)

/** Without a version, the latest one. Source: contract, `upgradeOrgJsiDevice`. */
export const JsiUpgradeBody = named('JsiDeviceUpgradeCreate', Type.Object({ version: Type.Optional(Version) }))

/** @throws AppError invalid naming a field with an inconsistent value, or one that can't take effect yet. */
export function parseSiteUpgrade(body: SiteUpgradeBody, siteId: string): UpgradeRequest {
  const { device_ids: ids = [], reboot = false, ...rest } = body
  const request = parseOrgUpgrade({ ...rest, site_ids: [siteId] })
  refuseInclusion(request, { ids, reboot })
  // Clients send an empty list for "all".
  const selected = ids.length === 0 ? null : new Set(ids.map((id) => id.toLowerCase()))
  return { ...request, selection: { ...request.selection, ids: selected }, reboots: reboot, document: body }
}

/** @throws AppError invalid if the devices that may join would contradict the request. */
function refuseInclusion(
  { includeNew, selection }: UpgradeRequest,
  { ids, reboot }: { readonly ids: readonly string[]; readonly reboot: boolean },
): void {
  if (includeNew === null) return
  if (ids.length > 0) throw invalidField('include_new', 'is given with device_ids, which name all devices')
  if (!reboot && selection.type !== 'ap')
    throw invalidField('include_new', 'needs reboot or the device_type ap: other devices that join reboot')
}

export const SiteUpgradeIdReply = named('SiteUpgradeId', Type.Object({ upgrade_id: Uuid }))

export const DeviceUpgradeReply = named(
  'DeviceUpgrade',
  Type.Object({
    status: Type.Enum(['error', 'inprogress', 'scheduled', 'starting', 'success']),
    timestamp: Timestamp,
    /** Ours: the site upgrade that upgrades the device. */
    upgrade_id: Uuid,
  }),
)

export function presentDeviceUpgrade({ status, at, upgradeId }: DeviceUpgrade): Static<typeof DeviceUpgradeReply> {
  return { status, timestamp: epochS(at), upgrade_id: upgradeId }
}

/** Source: contract, `listSiteDeviceUpgrades`. */
export const SiteUpgradesQuery = Type.Object({ ...pageQuery, ...filterQuery(siteUpgradeFilters) })

/** @throws AppError invalid naming the field. */
export function parseSiteUpgrades(query: Static<typeof SiteUpgradesQuery>): Conditions<typeof siteUpgradeFilters> {
  return parseFilters(siteUpgradeFilters, query)
}

const itemFields = {
  id: Uuid,
  ...nameField,
  status: Type.Enum(statuses),
  strategy: Type.String(),
  target_version: Type.String(),
  start_time: Type.Integer(),
  reboot_at: Type.Integer(),
  force: Type.Boolean(),
  enable_p2p: Type.Boolean(),
  current_phase: Type.Integer(),
  max_failure_percentage: Type.Optional(Type.Integer()),
  max_failures: Type.Optional(Type.Array(Type.Integer())),
  /** MACs by phase number. */
  upgrade_plan: Type.Record(Type.String(), Type.Array(Type.String())),
  ...stateFields,
  ...waitField,
}

const Count = Type.Integer()

/** Source: contract, `response_site_device_upgrades_item`. */
export const SiteUpgradeListReply = named(
  'SiteUpgradeSummary',
  Type.Object({
    ...itemFields,
    counts: named(
      'UpgradeCounts',
      Type.Object({
        scheduled: Count,
        download_requested: Count,
        downloading: Count,
        downloaded: Count,
        reboot_in_progress: Count,
        rebooted: Count,
        upgraded: Count,
        failed: Count,
        skipped: Count,
        cancelled: Count,
        total: Count,
      }),
    ),
  }),
)

/** Source: contract, `response_site_device_upgrade`. */
export const SiteUpgradeDetailReply = named(
  'SiteUpgradeDetail',
  Type.Object({
    ...itemFields,
    targets: TargetsReply,
    canary_phases: Type.Optional(Type.Array(Type.Integer())),
    p2p_cluster_size: Type.Optional(Type.Integer()),
    p2p_parallelism: Type.Optional(Type.Integer()),
    ...awaitedField('devices'),
    notes: NotesReply,
  }),
)

export function presentSiteUpgradeItem(item: SiteUpgradeItem): Static<typeof SiteUpgradeListReply> {
  const count = (bucket: keyof typeof buckets): number =>
    buckets[bucket].reduce((sum, state) => sum + item.counts[state], 0)
  return {
    ...presentCommon(item),
    counts: {
      scheduled: count('scheduled'),
      download_requested: count('download_requested'),
      downloading: count('downloading'),
      downloaded: count('downloaded'),
      reboot_in_progress: count('reboot_in_progress'),
      rebooted: count('rebooted'),
      upgraded: count('upgraded'),
      failed: count('failed'),
      skipped: count('skipped'),
      cancelled: count('cancelled'),
      total: item.total,
    },
  }
}

export function presentSiteUpgradeDetail(detail: SiteUpgradeDetail): Static<typeof SiteUpgradeDetailReply> {
  const { canaryPhases, p2pClusterSize, p2pParallelism, orgNotes } = detail
  return {
    ...presentCommon(detail),
    targets: presentTargets(detail),
    ...(canaryPhases !== null && { canary_phases: [...canaryPhases] }),
    ...(p2pClusterSize !== null && { p2p_cluster_size: p2pClusterSize }),
    ...(p2pParallelism !== null && { p2p_parallelism: p2pParallelism }),
    ...presentAwaited(detail.awaited),
    notes: [...orgNotes, ...presentNotes(detail)],
  }
}

function presentCommon(item: SiteUpgradeItem) {
  const { maxFailurePercentage, maxFailures, phases } = item
  return {
    id: item.id,
    ...presentName(item.name),
    status: item.status,
    strategy: item.strategy,
    target_version: item.targetVersion,
    start_time: Math.floor(epochS(item.startAt)),
    reboot_at: Math.floor(epochS(item.rebootAt)),
    force: item.force,
    enable_p2p: item.enableP2p,
    current_phase: item.currentPhase,
    ...(maxFailurePercentage !== null && { max_failure_percentage: maxFailurePercentage }),
    ...(maxFailures !== null && { max_failures: [...maxFailures] }),
    upgrade_plan: Object.fromEntries(Object.entries(phases).map(([phase, macs]) => [phase, [...macs]])),
    ...presentState(item),
  }
}
