import { type RawBuilder, sql } from 'kysely'
import type { OrgScope } from '../access/scope.ts'
import type { LossReason } from '../devices/commands/command.ts'
import { type Db, type Tx, anyOf } from '../platform/db.ts'
import { planEachTime } from '../platform/prepared.ts'
import type { CommandState, DeviceType, VcMember } from '../platform/schema/devices.ts'
import type { JobNow } from './decide-next.ts'
import type { OrgUpgradeNow } from './decide-org-upgrade.ts'
import { terminalStates } from './rollout.ts'
import type { DeviceLink, TargetNow } from './target.ts'

/** The right to advance a site upgrade: void once another worker has claimed it with a higher epoch. */
export interface JobClaim {
  readonly orgId: string
  readonly id: string
  readonly orgUpgradeId: string
  readonly epoch: string
}

export interface ClaimOptions {
  /** Service time here and below. */
  readonly nowMs: number
  /** Takes what becomes due before it too, as far as it is not in `seen`. */
  readonly dueBeforeMs: number
  /** Ids of site upgrades that need no look before they are due. */
  readonly seen: readonly string[]
  readonly leaseUntilMs: number
  readonly limit: number
}

/** Takes site upgrades that are due, all of one organization: the one that has waited longest. */
export async function claimJobs(
  db: Db,
  { nowMs, dueBeforeMs, seen, leaseUntilMs, limit }: ClaimOptions,
): Promise<JobClaim[]> {
  const ready = sql`finished_at is null and (lease_until_ms is null or lease_until_ms <= ${nowMs})
    and (due_ms <= ${nowMs} or due_ms < ${dueBeforeMs} and id <> ${allOf(seen)})`
  const claimed = await sql<JobClaim>`
    with due as (
      select org_id, id from site_upgrade
      where ${ready} and org_id = (select org_id from site_upgrade where ${ready} order by due_ms limit 1)
      order by due_ms limit ${limit}
      for update skip locked
    )
    update site_upgrade job set lease_until_ms = ${leaseUntilMs}, epoch = job.epoch + 1
    from due where job.org_id = due.org_id and job.id = due.id
    returning job.org_id, job.id, job.org_upgrade_id, job.epoch
  `.execute(db)
  return claimed.rows
}

/** Locked before their site upgrades, here and when they are cancelled: one order, hence no deadlock. */
export async function lockOrgUpgrades(tx: Tx, scope: OrgScope, ids: readonly string[]): Promise<OrgUpgradeNow[]> {
  return tx
    .selectFrom('orgUpgrade')
    .select(['id', 'maxFailurePercentage', 'planned', 'hardFailures'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forUpdate()
    .execute()
}

/** A site upgrade that this worker may advance. */
export interface Job extends JobNow {
  readonly id: string
  readonly orgUpgradeId: string
  readonly siteId: string
  readonly siteName: string | null
  readonly targets: readonly JobTarget[]
}

export interface JobTarget extends TargetNow {
  readonly upgradeId: string
  readonly mac: string
  /** Its name; null for a device without one, or that is gone. */
  readonly name: string | null
}

export interface HeldClaims {
  readonly claims: readonly JobClaim[]
  /** A target that was commanded before it, and whose command is still queued, needs a look. Service time here and below. */
  readonly unsentSinceMs: number
  /** A target that was commanded before it, and whose command has not ended, needs a look. */
  readonly stalledSinceMs: number
  /** Where the last phase opened before it, absent devices are given up. */
  readonly absentSinceMs: number
}

/** Locks what was claimed, as far as the claims still hold, and reads what decideNext() wants to know. */
export async function lockJobs(tx: Tx, scope: OrgScope, { claims, ...limits }: HeldClaims): Promise<Job[]> {
  const ids = claims.map(({ id }) => id)
  const epochs = claims.map(({ epoch }) => epoch)
  const rows = await tx
    .selectFrom('siteUpgrade as job')
    .select([
      'job.id',
      'job.orgUpgradeId',
      'job.siteId',
      'job.status',
      'job.stopping',
      'job.stopReason',
      'job.hold',
      'job.gatePassed',
      'job.startAt',
      'job.rebootAt',
      'job.plan',
      'job.currentPhase',
      'job.phaseOpenedMs',
      'job.graceUntilMs',
      'job.counts',
      'job.hardFailures',
    ])
    .select(
      sql<string | null>`(select name from site where site.org_id = job.org_id and site.id = job.site_id)`.as(
        'siteName',
      ),
    )
    .where('job.orgId', '=', scope.orgId)
    .where(sql<boolean>`(job.id, job.epoch) in (select * from unnest(${ids}::uuid[], ${epochs}::bigint[]))`)
    .orderBy('job.id')
    .forUpdate('job')
    .execute()
  const targets = Map.groupBy(await listTargets(tx, scope, rows, limits), ({ upgradeId }) => upgradeId)
  return rows.map((row) => Object.assign(row, { targets: targets.get(row.id) ?? [] }))
}

interface TargetRow {
  readonly upgradeId: string
  readonly mac: string
  readonly name: string | null
  readonly deviceId: string
  readonly phase: number
  readonly state: TargetNow['state']
  readonly enteredMs: number
  readonly fromVersion: string | null
  readonly targetVersion: string
  readonly imageId: string
  readonly force: boolean
  readonly attempt: number
  readonly failedAttempts: number
  readonly retryAtMs: number | null
  readonly fetched: boolean
  readonly bootCount: number | null
  readonly type: DeviceType | null
  /** As far as anybody was told. */
  readonly up: boolean
  readonly heard: boolean
  readonly connectedMs: number | null
  readonly firmware: string | null
  readonly deviceBootCount: number | null
  readonly bootedAt: Date | null
  readonly members: readonly VcMember[] | null
  readonly commandId: string | null
  readonly commandState: CommandState
  readonly refusal: string | null
  readonly refusalIsFinal: boolean
  readonly loss: LossReason | null
  readonly sentAt: Date | null
  readonly touchedMs: number | null
  readonly bytesServed: string | null
  readonly delivered: boolean
  readonly fenced: boolean
}

/** See JobNow.targets; in the order of the plan. */
async function listTargets(
  tx: Tx,
  scope: OrgScope,
  jobs: readonly TargetedJob[],
  limits: Omit<HeldClaims, 'claims'>,
): Promise<JobTarget[]> {
  const { rows } = await targetQuery(scope, jobs, limits).execute(tx)
  return rows.map(targetOf)
}

type TargetedJob = Omit<JobNow & { readonly id: string }, 'targets'>

/**
 * Absent deferred targets come once they may be given up. Those that wait for the answer of a connected device are left
 * out: they are most of a large upgrade's, at each of its many rounds.
 *
 * Each table is read by its key, row by row: an upgrade adds its rows all at once, and until PostgreSQL has analyzed
 * them it expects few and would compare every row of one table with every row of another. A subquery with a limit can be
 * joined in no other way. The device is found by its id alone, because any index that starts with the organization looks
 * as good as its key then.
 */
export function targetQuery(
  scope: OrgScope,
  jobs: readonly TargetedJob[],
  { unsentSinceMs, stalledSinceMs, absentSinceMs }: Omit<HeldClaims, 'claims'>,
): RawBuilder<TargetRow> {
  const unanswered = sql`c.state = 'queued' and t.entered_ms > ${unsentSinceMs}
    or c.state = 'sent' and t.entered_ms > ${stalledSinceMs}
    and (t.state = 'downloading' or f.bytes_served is null or f.bytes_served = 0)`
  const upTo = jobs.map(({ stopping, currentPhase, plan }) => (stopping === null ? currentPhase : plan.phases))
  const giveUp = jobs.map(
    ({ currentPhase, phaseOpenedMs, plan }) =>
      currentPhase >= plan.phases && phaseOpenedMs !== null && phaseOpenedMs <= absentSinceMs,
  )
  return sql<TargetRow>`${planEachTime}
    select t.upgrade_id, t.mac, d.name, t.device_id, t.phase, t.state, t.entered_ms, t.from_version, t.target_version,
      t.image_id, t.force, t.attempt, t.failed_attempts, t.retry_at_ms, t.fetched,
      t.boot_count, d.type, coalesce(s.connected, false) as up, coalesce(session.connected, false) as heard,
      case when session.connected then session.connected_ms end as connected_ms, s.firmware,
      s.boot_count as device_boot_count, s.booted_at, s.members, c.id as command_id, c.state as command_state,
      c.outcome->>'text' as refusal, coalesce((c.outcome->>'final')::boolean, false) as refusal_is_final,
      c.outcome->>'why' as loss, c.sent_at, f.touched_ms, f.bytes_served,
      f.delivered_at is not null as delivered, f.fenced_at is not null as fenced
    from unnest(${jobs.map(({ id }) => id)}::uuid[], ${jobs.map(({ stopping }) => stopping !== null)}::boolean[],
      ${jobs.map(({ hold }) => hold !== null)}::boolean[], ${upTo}::integer[], ${giveUp}::boolean[])
      as job (id, stopping, held, up_to, give_up)
    cross join lateral (
      select * from upgrade_target
      where org_id = ${scope.orgId} and upgrade_id = job.id and phase <= job.up_to and state <> ${allOf(terminalStates)}
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
    where (t.state <> 'deferred' or session.connected or job.stopping or d.id is null or job.give_up)
      and (job.stopping or job.held or d.id is null or session.connected is not true
        or s.firmware is not distinct from t.target_version or (${unanswered}) is not true)
    order by t.upgrade_id, t.ordinal
  `
}

/** Right-hand side of `<> all(...)`. */
function allOf(values: readonly string[]) {
  return sql`all(${values})`
}

function targetOf(row: TargetRow): JobTarget {
  const {
    type,
    up,
    heard,
    connectedMs,
    firmware,
    deviceBootCount,
    bootedAt,
    members,
    commandId,
    commandState,
    refusal,
    refusalIsFinal,
    loss,
    sentAt,
    touchedMs,
    bytesServed,
    delivered,
    fenced,
    ...target
  } = row
  const memberFirmware = (members ?? []).map((member) => member.firmware)
  return {
    ...target,
    device: type && {
      type,
      link: linkOf(up, heard),
      connectedMs,
      firmware,
      bootCount: deviceBootCount ?? 0,
      bootedAt,
      memberFirmware,
    },
    command: commandId === null ? null : { id: commandId, state: commandState, refusal, refusalIsFinal, loss, sentAt },
    download: touchedMs === null ? null : { touchedMs, bytesServed: Number(bytesServed), delivered, fenced },
  }
}

/** A device whose session was lost counts as connected for everybody else until it has been away for a while. */
function linkOf(up: boolean, heard: boolean): DeviceLink {
  if (heard) return 'connected'
  return up ? 'expected' : 'absent'
}

/**
 * Makes all site upgrades due that wait for an instant of the wall clock, or for an earlier process: after a start, and
 * after a step of the clock, their due times in service time are wrong.
 */
export async function expediteJobs(db: Db, nowMs: number, which: 'all' | 'queued'): Promise<void> {
  await db
    .updateTable('siteUpgrade')
    .set({ dueMs: nowMs, ...(which === 'all' && { leaseUntilMs: null }) })
    .where('finishedAt', 'is', null)
    .where('dueMs', 'is not', null)
    .$if(which === 'queued', (query) => query.where('status', '=', 'queued'))
    .execute()
}
