import { type RawBuilder, sql } from 'kysely'
import type { OrgScope } from '../access/scope.ts'
import { BUSY, type LossReason } from '../devices/commands/command.ts'
import { type Reader, type Tx, noneOf } from '../platform/db.ts'
import { type NamedVersion, identifyVersion } from '../firmware/version-identity.ts'
import { columnsOf, rowsAs } from '../platform/rows.ts'
import type { CommandKind, CommandState, VcMember } from '../devices/tables.ts'
import type { DeviceType } from '../events/device-type.ts'
import type { SiteUpgradeNow } from './site-upgrade-now.ts'
import { terminalStates } from './rollout.ts'
import { versionRun } from './store-versions.ts'
import {
  type CommandNow,
  type DeviceNow,
  type DownloadNow,
  type TargetNow,
  type UpgradeOrder,
  linkOf,
} from './target.ts'

export interface LockedTarget extends TargetNow {
  readonly upgradeId: string
  readonly mac: string
  /** The device's name; null if it has none or has left the organization. */
  readonly name: string | null
}

export interface TargetKey {
  readonly upgradeId: string
  readonly deviceId: string
}

/** Lists the targets of these devices that have not ended. */
export async function listChangedTargets(reader: Reader, deviceIds: readonly string[]): Promise<TargetKey[]> {
  if (deviceIds.length === 0) return []
  const { rows } = await sql<TargetKey>`
    select active.upgrade_id, changed.id as device_id
    from unnest(${deviceIds}::uuid[]) as changed (id)
    cross join lateral (select org_id from device where id = changed.id limit 1) device
    cross join lateral (
      select upgrade_id from device_upgrade
      where org_id = device.org_id and device_id = changed.id limit 1) active
    where active.upgrade_id is not null
  `.execute(reader)
  return rows
}

export interface TargetLimits {
  /**
   * Includes targets commanded before this time whose command is still queued. In service time, as the following ones.
   */
  readonly unsentSinceMs: number
  /** Includes targets commanded before this time whose command has not ended. */
  readonly stalledSinceMs: number
  /** If the last phase opened before this time, absent devices are given up. */
  readonly absentSinceMs: number
  /** On the wall clock: if the reboots begin after it, targets that have their image are omitted. */
  readonly now: Date
}

interface TargetRow {
  readonly upgradeId: string
  readonly mac: string
  readonly name: string | null
  readonly deviceId: string
  readonly phase: number
  readonly downloadPhase: number | null
  readonly rank: number | null
  readonly state: TargetNow['state']
  readonly enteredMs: number
  readonly fromVersion: string | null
  readonly targetVersion: string
  readonly reported: readonly string[] | null
  readonly imageId: string
  readonly path: TargetNow['path']
  readonly force: boolean
  readonly attempt: number
  readonly failedAttempts: number
  readonly lostAttempts: number
  readonly retryAtMs: number | null
  readonly fetched: boolean
  readonly staged: boolean
  readonly bootCount: number | null
  readonly type: DeviceType | null
  /** The connection state that the interface shows. */
  readonly up: boolean
  readonly heard: boolean
  readonly connectedMs: number | null
  readonly disconnectedMs: number | null
  readonly firmware: string | null
  readonly deviceBootCount: number | null
  readonly bootedAt: Date | null
  readonly members: readonly VcMember[] | null
  readonly commandId: string | null
  readonly commands: readonly CommandKind[] | null
  readonly repeatable: readonly CommandKind[] | null
  readonly backupVersion: string | null
  readonly commandKind: UpgradeOrder
  readonly commandState: CommandState
  readonly refusal: string | null
  readonly refusalIsFinal: boolean
  readonly refusalIsBusy: boolean
  readonly loss: LossReason | null
  readonly mayReboot: boolean
  readonly sentAt: Date | null
  readonly touchedMs: number | null
  readonly bytesServed: string | null
  readonly delivered: boolean
  readonly fenced: boolean
}

/** Lists the targets that SiteUpgradeNow.targets describes, in the order of the plan. */
export async function listTargets(
  tx: Tx,
  scope: OrgScope,
  siteUpgrades: readonly TargetedSiteUpgrade[],
  limits: TargetLimits & { readonly changes: readonly TargetKey[] },
): Promise<LockedTarget[]> {
  const { rows } = await targetQuery(scope, siteUpgrades, limits).execute(tx)
  return rows.map(targetOf)
}

type TargetedSiteUpgrade = Omit<SiteUpgradeNow & { readonly id: string }, 'targets'>

const keyColumns = columnsOf('upgradeTarget', { upgradeId: 'uuid', deviceId: 'uuid' })
const siteUpgradeColumns = columnsOf('siteUpgrade', { id: 'uuid' }, {
  ...{
    stopping: 'boolean',
    held: 'boolean',
    giveUp: 'boolean',
    isDue: 'boolean',
    isEarly: 'boolean',
    readsAll: 'boolean',
  },
  ...{ upTo: 'integer', downloadsUpTo: 'integer' },
} as const)

/**
 * Selects all targets of a site upgrade that is due, and of any other one those in `changes`. It omits deferred targets
 * whose devices are absent, until they may be given up, targets that wait for the answer of a connected device, and
 * those that wait for the reboots to begin: in a large upgrade these are most of the targets in most rounds. If the
 * downloads have phases, or the restarts an order, it includes targets that wait for an answer: others wait for them.
 *
 * Each table is read by its key, row by row: an upgrade adds its rows all at once, and until PostgreSQL has analyzed
 * them it expects few and would compare every row of one table with every row of another. A subquery with a limit can
 * be joined in no other way. The device is found by its id only, because any index that starts with the organization
 * looks as good as its key then.
 */
export function targetQuery(
  scope: OrgScope,
  siteUpgrades: readonly TargetedSiteUpgrade[],
  {
    changes,
    unsentSinceMs,
    stalledSinceMs,
    absentSinceMs,
    now,
  }: TargetLimits & { readonly changes: readonly TargetKey[] },
): RawBuilder<TargetRow> {
  const unanswered = sql`c.state = 'queued' and t.entered_ms > ${unsentSinceMs}
    or c.state = 'sent' and t.entered_ms > ${stalledSinceMs}
    and (t.state = 'downloading' or f.bytes_served is null or f.bytes_served = 0)`
  const rows = siteUpgrades.map(({ id, stopping, hold, currentPhase, phaseOpenedMs, rebootAt, plan, ...rest }) => ({
    id,
    stopping: stopping !== null,
    held: hold !== null,
    upTo: stopping === null ? currentPhase : plan.phases,
    giveUp: currentPhase >= plan.phases && phaseOpenedMs !== null && phaseOpenedMs <= absentSinceMs,
    downloadsUpTo: rest.downloads?.current ?? null,
    isDue: rest.isDue,
    readsAll: plan.downloads !== undefined || plan.ranked === true,
    isEarly: plan.stages && rebootAt > now,
  }))
  return sql<TargetRow>`
    select t.upgrade_id, t.mac, d.name, t.device_id, t.phase, t.download_phase, t.rank, t.state, t.entered_ms,
      t.from_version, t.target_version, t.reported,
      t.image_id, t.path, t.force, t.attempt, t.failed_attempts, t.lost_attempts, t.retry_at_ms, t.fetched, t.staged,
      t.boot_count, d.type, coalesce(s.connected, false) as up, coalesce(session.connected, false) as heard,
      case when session.connected then session.connected_ms end as connected_ms, session.disconnected_ms,
      ${versionRun('t', 's.firmware')} as firmware,
      s.boot_count as device_boot_count, s.booted_at, s.members, s.capabilities->'commands' as commands,
      s.capabilities->'repeatable' as repeatable, s.capabilities->>'backup_version' as backup_version,
      c.id as command_id, c.kind as command_kind, c.state as command_state,
      c.outcome->>'text' as refusal, coalesce((c.outcome->>'final')::boolean, false) as refusal_is_final,
      coalesce(c.outcome->>'code' = ${BUSY}, false) as refusal_is_busy,
      c.outcome->>'why' as loss, coalesce(c.progress->>'step' = 'reboot', false) as may_reboot, c.sent_at, f.touched_ms, f.bytes_served,
      f.delivered_at is not null as delivered, f.fenced_at is not null as fenced
    from ${rowsAs('site_upgrade', siteUpgradeColumns, rows)}
    cross join lateral (
      select * from upgrade_target
      where site_upgrade.is_due and org_id = ${scope.orgId} and upgrade_id = site_upgrade.id
      union all
      select changed_target.* from ${rowsAs('changed', keyColumns, changes)}
      cross join lateral (
        select * from upgrade_target
        where org_id = ${scope.orgId} and upgrade_id = changed.upgrade_id and device_id = changed.device_id
        limit 1) changed_target
      where not site_upgrade.is_due and changed.upgrade_id = site_upgrade.id
      offset 0) t
    left join lateral (
      select * from device where id = t.device_id limit 1) d on d.org_id = t.org_id
    left join lateral (
      select * from device_status where org_id = t.org_id and device_id = t.device_id limit 1) s on true
    left join lateral (
      select * from device_session where device_id = d.id limit 1) session on true
    left join lateral (
      select * from device_command where org_id = t.org_id and id = t.command_id limit 1) c on true
    left join lateral (
      select * from firmware_download where org_id = t.org_id and command_id = t.command_id limit 1) f on true
    where (t.phase <= site_upgrade.up_to
        or t.download_phase <= site_upgrade.downloads_up_to and t.state <> 'downloaded')
      and t.state <> ${noneOf(terminalStates)}
      and (t.state <> 'deferred' or session.connected or site_upgrade.stopping or d.id is null or site_upgrade.give_up)
      and (t.state <> 'downloaded' or not site_upgrade.is_early or site_upgrade.stopping or d.id is null)
      and (site_upgrade.stopping or site_upgrade.held or site_upgrade.reads_all or d.id is null
        or session.connected is not true
        or t.state = 'rolling_back' or ${versionRun('t', 's.firmware')} is not distinct from t.target_version
        or (${unanswered}) is not true)
    order by t.upgrade_id, t.ordinal
  `
}

/** Names each member: copying the rest of such a wide row takes longer than anything else that a round does with it. */
function targetOf(row: TargetRow): LockedTarget {
  const named = { version: row.targetVersion, reported: row.reported ?? [] }
  return {
    upgradeId: row.upgradeId,
    mac: row.mac,
    name: row.name,
    deviceId: row.deviceId,
    phase: row.phase,
    downloadPhase: row.downloadPhase,
    rank: row.rank,
    state: row.state,
    enteredMs: row.enteredMs,
    fromVersion: row.fromVersion,
    targetVersion: row.targetVersion,
    reported: named.reported,
    imageId: row.imageId,
    path: row.path,
    force: row.force,
    attempt: row.attempt,
    failedAttempts: row.failedAttempts,
    lostAttempts: row.lostAttempts,
    retryAtMs: row.retryAtMs,
    fetched: row.fetched,
    staged: row.staged,
    bootCount: row.bootCount,
    device: row.type && deviceOf(row, row.type, named),
    command: row.commandId === null ? null : commandOf(row, row.commandId),
    download: row.touchedMs === null ? null : downloadOf(row, row.touchedMs),
  }
}

function deviceOf(row: TargetRow, type: DeviceType, named: NamedVersion): DeviceNow {
  return {
    type,
    link: linkOf(row.up, row.heard),
    connectedMs: row.connectedMs,
    disconnectedMs: row.disconnectedMs,
    firmware: row.firmware,
    bootCount: row.deviceBootCount ?? 0,
    bootedAt: row.bootedAt,
    memberFirmware: (row.members ?? []).map((member) => identifyVersion(member.firmware, [named])),
    commands: row.commands ?? [],
    repeatable: row.repeatable ?? [],
    backupVersion: row.backupVersion,
  }
}

function commandOf(row: TargetRow, id: string): CommandNow {
  return {
    id,
    kind: row.commandKind,
    state: row.commandState,
    refusal: row.refusal,
    refusalIsFinal: row.refusalIsFinal,
    refusalIsBusy: row.refusalIsBusy,
    loss: row.loss,
    mayReboot: row.mayReboot,
    sentAt: row.sentAt,
  }
}

function downloadOf({ bytesServed, delivered, fenced }: TargetRow, touchedMs: number): DownloadNow {
  return { touchedMs, bytesServed: Number(bytesServed), delivered, fenced }
}
