import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import { textOf } from '../http/texts.ts'
import { MAX_EPOCH_S, epochS } from '../platform/time/clock.ts'
import type { UpgradeNote } from '../rollout/rollout.ts'
import { buckets } from './buckets.ts'
import type { OrgUpgrade, SiteUpgrade } from './org-upgrade.ts'
import { DEFAULT_CLUSTER_SIZE } from './planning/plan-p2p.ts'
import type { OrgUpgradeItem } from './store.ts'
import { decideWholeStatus } from '../rollout/decide-whole-status.ts'
import { previewFields } from './previews/wire.ts'
import { ApprovalsReply, presentApproval } from './changes/wire-approve.ts'
import { heldField, presentHeldNote, presentHold } from './wire-hold.ts'
import { limitsOfAll } from './wire-limits.ts'
import { endField, includeField, nameField, presentName, supersedeField, windowFields } from './wire-extensions.ts'
import { fieldsOf, strategies } from './strategies/index.ts'
import type { Strategies } from './strategies/strategy.ts'

/** A day in the year 9999 is the last that dates can show. Clients that always send a number send 0 for "now". */
const epochRange = { minimum: 0, maximum: MAX_EPOCH_S }
export const EpochS = Type.Integer(epochRange)
const DeprecatedEpochS = Type.Integer({ ...epochRange, deprecated: true })

const VersionItem = named(
  'UpgradeVersion',
  Type.Object({
    firmware_type: Type.Optional(Type.Enum(['ap', 'junos'])),
    force: Type.Optional(Type.Boolean({ default: false })),
    model_version: Type.Optional(Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: 200 }))),
    version: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  }),
)

/** Source: spec, "Organization device upgrade request"; `force` is the contract's, of the site operation. */
export const commonFields = {
  ...nameField,
  all_sites: Type.Optional(Type.Boolean({ default: false })),
  site_ids: Type.Optional(Type.Array(Uuid, { maxItems: 10_000 })),
  device_type: Type.Optional(Type.Enum(['ap', 'gateway', 'switch'])),
  models: Type.Optional(
    Type.Array(Type.Union([Type.Array(Type.String(), { maxItems: 1000 }), Type.String()]), { maxItems: 1000 }),
  ),
  rules: Type.Optional(Type.Array(Type.Record(Type.String(), Type.String()), { maxItems: 1000 })),
  version: Type.Optional(Type.String({ minLength: 1, maxLength: 200, deprecated: true })),
  versions: Type.Optional(
    Type.Array(Type.Union([VersionItem, Type.String({ minLength: 1, maxLength: 200 })]), { maxItems: 100 }),
  ),
  force: Type.Optional(Type.Boolean({ default: false })),
  start_datetime: Type.Optional(textOf('dateTime', { maxLength: 64 })),
  start_time: Type.Optional(DeprecatedEpochS),
  reboot_datetime: Type.Optional(textOf('dateTime', { maxLength: 64 })),
  reboot_at: Type.Optional(DeprecatedEpochS),
  enable_p2p: Type.Optional(Type.Boolean({ default: false })),
  p2p_cluster_size: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000, default: DEFAULT_CLUSTER_SIZE })),
  p2p_parallelism: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
  /** Devices that can take a recovery snapshot once they run the version. */
  snapshot: Type.Optional(Type.Boolean({ default: false })),
  /** A device that does not return or stay connected with the version boots the one before. Signalbox's own field. */
  rollback_on_failure: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Devices that do not return, or do not stay connected, with the version restore their backup version',
    }),
  ),
  /** Signalbox's own field. */
  check_health: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Devices count as upgraded once they have the uplinks, neighbors and radios that they had before, and half of the clients',
    }),
  ),
  ...previewFields,
  ...limitsOfAll,
  ...windowFields,
  ...endField,
  ...supersedeField,
  ...includeField,
}

export function strategyOf(registry: Strategies) {
  return Type.Enum(Object.keys(registry).toSorted())
}

/** The strategies of downloads and reboots. */
export function strategyFieldsOf(registry: Strategies) {
  const downloads = Object.values(registry).filter(({ onlyReboots }) => onlyReboots !== true)
  const names = downloads.map(({ name }) => name).toSorted()
  return {
    download_strategy: Type.Optional(Type.Enum(names, { default: 'big_bang' })),
    reboot_strategy: Type.Optional(strategyOf(registry)),
  }
}

/** The schema of the body, with the names and the fields of these strategies. */
export function orgUpgradeBodyOf<S extends Strategies>(registry: S) {
  return Type.Object({
    ...commonFields,
    ...strategyFieldsOf(registry),
    strategy: Type.Optional(Type.Enum(strategyOf(registry).enum, { deprecated: true })),
    ...fieldsOf(registry),
  })
}

export const OrgUpgradeBody = named('OrgUpgradeCreate', orgUpgradeBodyOf(strategies))
export type OrgUpgradeBody = Static<typeof OrgUpgradeBody>

/** A client that requests a preview here must not start an upgrade. */
export const OrgUpgradeQuery = Type.Object({ dry_run: previewFields.dry_run })

const Macs = Type.Array(Type.String())

export const TargetsReply = named(
  'UpgradeTargets',
  Type.Object({
    scheduled: Macs,
    download_requested: Macs,
    downloading: Macs,
    downloaded: Macs,
    reboot_in_progress: Macs,
    rebooted: Macs,
    upgraded: Macs,
    failed: Macs,
    skipped: Macs,
    cancelled: Macs,
    total: Type.Integer(),
  }),
)

/** Fields of a site upgrade that it has at times. */
export const stateFields = {
  /** Present while no new command is sent. Ours: the interface has no upgrade that waits for a person. */
  held: heldField,
  /** Why it stopped before its end. */
  stop_reason: Type.Optional(Type.String()),
}

/** When the maintenance window opens that devices wait for. Ours. */
export const waitField = { waits_until: Type.Optional(Timestamp) }

/** @param units What is upgraded, such as `devices`. Ours. */
export const awaitedField = (units: string) => ({
  awaited: Type.Optional(
    Type.Integer({
      description: `with \`include_new\`: the number of ${units} that other upgrades have, and that may join once those have ended with them, also after the end of this one; missing: none`,
    }),
  ),
})

export function presentAwaited(awaited: number): { readonly awaited?: number } {
  return awaited === 0 ? {} : { awaited }
}

/** @param units What is upgraded, such as `devices`. Ours. */
export const offlineField = (units: string) => ({
  offline: Type.Optional(
    Type.Integer({
      description: `the number of queued ${units} that it waits for because they are offline; missing: none`,
    }),
  ),
})

export function presentOffline(offline = 0): { readonly offline?: number } {
  return offline === 0 ? {} : { offline }
}

/** Devices that were left out, warnings, and why devices failed, are being restored or have no recovery snapshot. */
export const NotesReply = Type.Array(
  named('UpgradeNote', Type.Object({ mac: Type.Optional(Type.String()), reason: Type.String() })),
)

const SiteUpgradeReply = named(
  'SiteUpgrade',
  Type.Object({
    id: Uuid,
    start_time: Type.Integer(),
    status: Type.String(),
    targets: TargetsReply,
    ...stateFields,
    ...waitField,
    ...awaitedField('devices'),
    notes: NotesReply,
  }),
)

/** The parts of an upgrade at its sites. */
export const SiteUpgradesReply = Type.Array(
  named('OrgSiteUpgrade', Type.Object({ site_id: Uuid, upgrade: SiteUpgradeReply })),
)

export const OrgUpgradeReply = named(
  'OrgUpgrade',
  Type.Object({
    id: Uuid,
    ...nameField,
    enable_p2p: Type.Boolean(),
    force: Type.Boolean(),
    strategy: Type.String(),
    target_version: Type.String(),
    upgrades: SiteUpgradesReply,
    /** Present if there is a note about the whole upgrade, for instance that it selects no device. Ours. */
    notes: Type.Optional(Type.Array(Type.Object({ reason: Type.String() }))),
    approvals: Type.Optional(ApprovalsReply),
  }),
)

export const OrgUpgradeItemReply = named(
  'OrgUpgradeItem',
  Type.Object({
    id: Uuid,
    site_upgrades: Type.Array(named('SiteUpgradeItem', Type.Object({ site_id: Uuid, upgrade_id: Uuid }))),
    /** The others are ours: without them, a client would have to read each upgrade. */
    ...nameField,
    strategy: Type.String(),
    target_version: Type.String(),
    status: Type.Enum(['queued', 'running', 'completed', 'failed', 'cancelled'], {
      description: 'queued: no site has begun',
    }),
    held: stateFields.held,
    created_time: Timestamp,
    total: Type.Integer(),
    upgraded: Type.Integer(),
    failed: Type.Integer(),
  }),
)

export function presentOrgUpgrade(upgrade: OrgUpgrade): Static<typeof OrgUpgradeReply> {
  return {
    id: upgrade.id,
    ...presentName(upgrade.name),
    enable_p2p: upgrade.enableP2p,
    force: upgrade.force,
    strategy: upgrade.strategy,
    target_version: upgrade.targetVersion,
    upgrades: presentSiteUpgrades(upgrade),
    ...(upgrade.approvals.length > 0 && { approvals: upgrade.approvals.map(presentApproval) }),
    ...(upgrade.notes.length > 0 && { notes: upgrade.notes.map(({ reason }) => ({ reason })) }),
  }
}

export function presentSiteUpgrades({
  siteUpgrades,
}: Pick<OrgUpgrade, 'siteUpgrades'>): Static<typeof SiteUpgradesReply> {
  return siteUpgrades.map((site) => ({ site_id: site.siteId, upgrade: presentSiteUpgrade(site) }))
}

function presentSiteUpgrade(siteUpgrade: SiteUpgrade): Static<typeof SiteUpgradeReply> {
  const { id, startAt, status } = siteUpgrade
  return {
    id,
    start_time: Math.floor(epochS(startAt)),
    status,
    targets: presentTargets(siteUpgrade),
    ...presentState(siteUpgrade),
    ...presentAwaited(siteUpgrade.awaited),
    notes: presentNotes(siteUpgrade),
  }
}

export function presentTargets({
  targets,
  total,
}: Pick<SiteUpgrade, 'targets' | 'total'>): Static<typeof TargetsReply> {
  const macs = (bucket: keyof typeof buckets): string[] => buckets[bucket].flatMap((state) => targets[state] ?? [])
  return {
    scheduled: macs('scheduled'),
    download_requested: macs('download_requested'),
    downloading: macs('downloading'),
    downloaded: macs('downloaded'),
    reboot_in_progress: macs('reboot_in_progress'),
    rebooted: macs('rebooted'),
    upgraded: macs('upgraded'),
    failed: macs('failed'),
    skipped: macs('skipped'),
    cancelled: macs('cancelled'),
    total,
  }
}

export function presentState({
  hold,
  waitsUntil,
  stopReason,
}: Pick<SiteUpgrade, 'hold' | 'waitsUntil' | 'stopReason'>) {
  return {
    ...(waitsUntil !== null && { waits_until: epochS(waitsUntil) }),
    ...(hold !== null && { held: presentHold(hold) }),
    ...(stopReason !== null && { stop_reason: stopReason }),
  }
}

/** Presents the notes of a site upgrade, with the reasons why it waits and why devices failed. */
export function presentNotes({
  hold,
  waitsUntil,
  notes,
  failures,
}: Pick<SiteUpgrade, 'hold' | 'waitsUntil' | 'notes' | 'failures'>): Static<typeof NotesReply> {
  // The plan has noted the devices that were known to take no snapshot.
  const noted = new Set(notes.map(({ mac }) => mac))
  const failed = failures.flatMap(({ mac, state, reason }) => {
    if (state === 'failed') return [{ mac, reason: `failed: ${reason}` }]
    if (state === 'rolling_back') return [{ mac, reason: `being restored: ${reason}` }]
    return noted.has(mac) ? [] : [{ mac, reason: `no recovery snapshot: ${reason}` }]
  })
  return [...presentHeldNote(hold), ...presentWait(waitsUntil), ...notes.map(presentNote), ...failed]
}

/** The kind of a note is not published. */
export function presentNote({ mac, reason }: UpgradeNote): Static<typeof NotesReply>[number] {
  return mac === undefined ? { reason } : { mac, reason }
}

/** Returns the note of a site upgrade whose devices wait for a maintenance window. */
export function presentWait(until: Date | string | null): { reason: string }[] {
  if (until === null) return []
  return [{ reason: `waits for its maintenance window, which opens at ${new Date(until).toISOString()}` }]
}

export function presentOrgUpgradeItem(upgrade: OrgUpgradeItem): Static<typeof OrgUpgradeItemReply> {
  const { siteUpgrades, statuses, isRunning: runs, hold, total, upgraded, failed } = upgrade.sites
  return {
    id: upgrade.id,
    site_upgrades: siteUpgrades.map(({ siteId, upgradeId }) => ({ site_id: siteId, upgrade_id: upgradeId })),
    ...presentName(upgrade.name),
    strategy: upgrade.strategy,
    target_version: upgrade.targetVersion,
    status: decideWholeStatus({ runs, statuses, hasResults: upgraded + failed > 0 }),
    ...(hold !== null && { held: presentHold(hold) }),
    created_time: epochS(upgrade.createdAt),
    total,
    upgraded,
    failed,
  }
}
