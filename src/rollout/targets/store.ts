import { type RawBuilder, sql } from 'kysely'
import type { OrgScope } from '../../access/scope.ts'
import { type Reader, type Tx, noneOf } from '../../platform/database/db.ts'
import { nextTurn } from '../../platform/queues/next-turn.ts'
import { type RowOf, columnsOf, rowsAs } from '../../platform/database/rows.ts'
import type { SiteUpgradeNow } from '../site-upgrade-now.ts'
import { terminalStates } from '../rollout.ts'
import { versionRun } from './store-versions.ts'
import { type LockedTarget, type TargetRow, createCapabilitiesParser, targetOf } from './target-row.ts'

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
  /** The node whose sessions can carry commands at once; null: none. */
  readonly gatewayNode: string | null
}

/** Lists the targets that SiteUpgradeNow.targets describes, those of each site upgrade in the order of the plan. */
export async function listTargets(
  tx: Tx,
  scope: OrgScope,
  siteUpgrades: readonly TargetedSiteUpgrade[],
  limits: TargetLimits & { readonly changes: readonly TargetKey[] },
): Promise<LockedTarget[]> {
  // The names of the columns are those of the members, so that the wide rows need not be copied.
  const { rows } = await tx.withoutPlugins().executeQuery(targetQuery(scope, siteUpgrades, limits).compile(tx))
  await nextTurn()
  const parse = createCapabilitiesParser()
  // PostgreSQL would copy and sort the wide rows.
  return rows.toSorted((a, b) => a.ordinal - b.ordinal).map((row) => targetOf(row, parse))
}

type TargetedSiteUpgrade = Omit<SiteUpgradeNow & { readonly id: string }, 'targets'> & {
  /** The targets that are read if it is due. Absent: all of them. */
  readonly range?: DeviceRange | undefined
}

/** The first device is excluded, the last one included; null: no bound. */
export interface DeviceRange {
  readonly after: string | null
  readonly until: string | null
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000'
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const portionColumns = columnsOf('siteUpgrade', { id: 'uuid' }, { upTo: 'integer', after: 'uuid' } as const)

/**
 * Finds where the next portions of targets end that have not ended, in the order of the ids of their devices.
 * @returns The last device of each portion, by the id of its site upgrade; none if the targets that are left are fewer.
 */
export async function findPortionEnds(
  tx: Tx,
  scope: OrgScope,
  siteUpgrades: readonly (Pick<TargetedSiteUpgrade, 'id' | 'stopping' | 'currentPhase' | 'plan'> & {
    readonly after: string | null
  })[],
  size: number,
): Promise<ReadonlyMap<string, string>> {
  if (siteUpgrades.length === 0) return new Map()
  const rows = siteUpgrades.map((siteUpgrade) => {
    const { id, after } = siteUpgrade
    return { id, after: after ?? FIRST_ID, upTo: lastOpenPhase(siteUpgrade) }
  })
  // PostgreSQL may otherwise read and sort all targets that are left, for each portion.
  await sql`set local enable_bitmapscan = off`.execute(tx)
  const ends = await sql<{ id: string; deviceId: string }>`
    select site_upgrade.id, last.device_id
    from ${rowsAs('site_upgrade', portionColumns, rows)}
    cross join lateral (
      select device_id from upgrade_target
      where ${isInRange(scope, sql.lit(LAST_ID))}
        and phase <= site_upgrade.up_to and state <> ${noneOf(terminalStates)}
      order by org_id, upgrade_id, device_id limit 1 offset ${size - 1}) last
  `.execute(tx)
  await sql`set local enable_bitmapscan = on`.execute(tx)
  return new Map(ends.rows.map(({ id, deviceId }) => [id, deviceId]))
}

/** Compares whole keys: with the device alone, PostgreSQL may choose the index of the targets of all upgrades by device. */
function isInRange({ orgId }: OrgScope, until: RawBuilder<unknown>): RawBuilder<boolean> {
  const key = sql`(org_id, upgrade_id, device_id)`
  return sql`${key} > (${orgId}::uuid, site_upgrade.id, site_upgrade.after)
    and ${key} <= (${orgId}::uuid, site_upgrade.id, ${until}::uuid)`
}

/** A stop concerns the targets of all phases. */
function lastOpenPhase({
  stopping,
  currentPhase,
  plan,
}: Pick<TargetedSiteUpgrade, 'stopping' | 'currentPhase' | 'plan'>): number {
  return stopping === null ? currentPhase : plan.phases
}

/** True or null: a value that is missing costs neither side anything, and nearly all conditions of a target are false. */
function flag(condition: RawBuilder<unknown>): RawBuilder<true | null> {
  return sql`(${condition} or null)`
}

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
  ...{ upTo: 'integer', downloadsUpTo: 'integer', after: 'uuid', until: 'uuid' },
} as const)

/** The facts about a site upgrade that decide which of its targets are read. */
function rowOf(
  { id, stopping, hold, currentPhase, phaseOpenedMs, rebootAt, plan, range, downloads, isDue }: TargetedSiteUpgrade,
  { absentSinceMs, now }: Pick<TargetLimits, 'absentSinceMs' | 'now'>,
): RowOf<typeof siteUpgradeColumns> {
  return {
    id,
    stopping: stopping !== null,
    held: hold !== null,
    upTo: lastOpenPhase({ stopping, currentPhase, plan }),
    after: range?.after ?? FIRST_ID,
    until: range?.until ?? LAST_ID,
    giveUp: currentPhase >= plan.phases && phaseOpenedMs !== null && phaseOpenedMs <= absentSinceMs,
    downloadsUpTo: downloads?.current ?? null,
    isDue,
    readsAll: plan.downloads !== undefined || plan.ranked === true,
    isEarly: plan.stages && rebootAt > now,
  }
}

/**
 * Selects the targets of a due site upgrade, within its range if it has one, and the targets in `changes` of any other. It
 * omits deferred targets whose devices are absent, until they may be given up, targets that wait for the answer of a
 * connected device, and those that wait for the reboots to begin: in a large upgrade these are most of the targets in most
 * rounds. If the downloads have phases, or the restarts an order, it includes targets that wait for an answer: others wait
 * for them.
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
    gatewayNode,
  }: TargetLimits & { readonly changes: readonly TargetKey[] },
): RawBuilder<TargetRow> {
  const unanswered = sql`c.state = 'queued' and t.entered_ms > ${unsentSinceMs}
    or c.state = 'sent' and t.entered_ms > ${stalledSinceMs}
    and (t.state = 'downloading' or f.bytes_served is null or f.bytes_served = 0)`
  const rows = siteUpgrades.map((siteUpgrade) => rowOf(siteUpgrade, { absentSinceMs, now }))
  return sql<TargetRow>`
    select t.upgrade_id as "upgradeId", t.ordinal, t.mac, d.name, t.device_id as "deviceId", t.phase,
      t.download_phase as "downloadPhase", t.rank, t.state, t.entered_ms as "enteredMs", t.from_version as "fromVersion",
      t.target_version as "targetVersion", t.reported, t.image_id as "imageId", t.path, ${flag(sql`t.force`)} as force, t.attempt,
      nullif(t.failed_attempts, 0) as "failedAttempts", nullif(t.lost_attempts, 0) as "lostAttempts",
      t.retry_at_ms as "retryAtMs", ${flag(sql`t.fetched`)} as fetched, ${flag(sql`t.staged`)} as staged,
      t.boot_count as "bootCount", d.type, ${flag(sql`s.connected`)} as up, ${flag(sql`session.connected`)} as heard,
      case when session.connected then session.connected_ms end as "connectedMs",
      session.disconnected_ms as "disconnectedMs", ${versionRun('t', 's.firmware')} as firmware,
      s.boot_count as "deviceBootCount", s.booted_at as "bootedAt",
      ${flag(sql`s.boot_id is not null or s.boot_known_ms >= session.connected_ms`)} as "isBootKnown", s.members,
      s.capabilities::text as capabilities,
      case when session.connected and session.node_id = ${gatewayNode}::uuid then session.epoch end as epoch, c.id as "commandId", c.kind as "commandKind",
      c.state as "commandState", case when c.state <> 'done' then c.outcome end as outcome,
      ${flag(sql`c.progress->>'step' = 'reboot'`)} as "mayReboot", c.sent_at as "sentAt", f.touched_ms as "touchedMs",
      f.bytes_served as "bytesServed", ${flag(sql`f.delivered_at is not null`)} as delivered,
      ${flag(sql`f.fenced_at is not null`)} as fenced
    from ${rowsAs('site_upgrade', siteUpgradeColumns, rows)}
    cross join lateral (
      select * from upgrade_target
      where site_upgrade.is_due and ${isInRange(scope, sql`site_upgrade.until`)}
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
  `
}
