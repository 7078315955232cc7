import { type RawBuilder, sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import { type Db, type Tx, json } from '../../platform/database/db.ts'
import type { GateWait, UpgradeHold } from '../rollout.ts'

/** A check that is due, or a wait that has ended. */
export interface DueCheck {
  readonly orgId: string
  /** The id of the whole upgrade. */
  readonly id: string
  /** The site whose upgrade it is, as far as its events name one. */
  readonly siteId: string | null
  readonly phase: number
  /** Null: of the reboots. */
  readonly of: 'downloads' | null
  /** What the gate waits for, besides its instant. */
  readonly waitFor: GateWait
  /** Null: the upgrade waits for a time now. */
  readonly url: string | null
  /** See PhaseGate.emptied. */
  readonly isEmptied: boolean
  /** The start of the pause to which the check belongs, in service time. */
  readonly sinceMs: number
  /** The number of this attempt, from 1. It also voids the claim once another worker has claimed the check. */
  readonly attempt: number
  readonly total: number
  readonly upgraded: number
  readonly failed: number
}

/** The rows of one kind of upgrades that wait for checks. */
export interface CheckedRows {
  readonly table: string
  /** What is claimed, besides checks. Absent: nothing is. */
  readonly withTimes?: true
  /**
   * Selects of the rows `claimed`: org_id, id, site_id, hold, of, phase, plan, and by phase the numbers `upgraded` and `failures`.
   */
  readonly asked: RawBuilder<unknown>
}

/** Upgrades of devices. Their waits for a time are due only when something happens, so they are claimed as well. */
export const deviceRows: CheckedRows = {
  table: 'org_upgrade',
  withTimes: true,
  asked: sql`
    select org_id, id, null::uuid as site_id, hold, 'downloads' as of, (downloads->>'current')::integer as phase, download_plan as plan,
      downloads->'downloaded' as upgraded, downloads->'failures' as failures
    from claimed where hold->>'of' = 'downloads'
    union all
    select org_id, id, null, hold, null, current_phase, phase_plan, upgraded_by_phase, failures_by_phase
    from claimed where hold->>'of' is null`,
}

export interface ClaimedChecks {
  readonly nowMs: number
  readonly leaseUntilMs: number
  readonly limit: number
  /** The number of checks of one organization, with those that are running. Waits for a time don't count. */
  readonly perOrg: number
  /** The organizations of the checks that are running. */
  readonly running: readonly string[]
}

/**
 * Claims checks that are due: until the lease ends, no other worker calls them. Checks without a waiting upgrade are
 * dropped.
 */
export async function claimChecks(
  db: Db,
  { table, withTimes, asked }: CheckedRows,
  { nowMs, leaseUntilMs, limit, perOrg, running }: ClaimedChecks,
): Promise<DueCheck[]> {
  const upgrades = sql.table(table)
  const claimed = withTimes === true ? sql`('check', 'time')` : sql`('check')`
  const { rows } = await sql<DueCheck & { readonly isWanted: boolean }>`
    with running as (
      select org_id, count(*) as number from unnest(${running}::uuid[]) org_id group by org_id
    ), placed as (
      select org_id, id, check_due_ms, hold->>'by' = 'time' as asks_nobody,
        row_number() over (partition by org_id, hold->>'by' order by check_due_ms) as place
      from ${upgrades} where check_due_ms <= ${nowMs}
    ), next as (
      select placed.org_id, id from placed left join running on running.org_id = placed.org_id
      where asks_nobody or place <= ${perOrg} - coalesce(number, 0) order by check_due_ms limit ${limit}
    ), due as (
      select org_id, id from ${upgrades} where (org_id, id) in (select org_id, id from next) and check_due_ms <= ${nowMs}
      for update skip locked
    ), claimed as (
      update ${upgrades} upgrade set
        check_due_ms = case when upgrade.hold->>'by' in ${claimed} then ${leaseUntilMs}::float8 end,
        check_attempts = upgrade.check_attempts + 1
      from due where upgrade.org_id = due.org_id and upgrade.id = due.id
      returning upgrade.*
    ), asked as (${asked})
    select org_id, id, site_id, of, phase, plan->'gates'->(phase - 1)->>'wait_for' as wait_for,
      case when hold->>'by' = 'check' then plan->'gates'->(phase - 1)->>'url' end as url,
      coalesce((plan->'gates'->(phase - 1)->>'emptied')::boolean, false) as is_emptied, (hold->>'since_ms')::float8 as since_ms,
      check_attempts as attempt, (plan->'phase_sizes'->>(phase - 1))::integer as total,
      coalesce((upgraded->>phase::text)::integer, 0) as upgraded,
      coalesce((failures->>phase::text)::integer, 0) as failed, check_due_ms is not null as is_wanted
    from asked join (select org_id, id, check_attempts, check_due_ms from claimed) claim using (org_id, id)
  `.execute(db)
  return rows.filter(({ isWanted }) => isWanted)
}

/**
 * Locks the upgrade if it still waits for this attempt of its check.
 * @returns Its pause; null: a person has resumed, paused or stopped it, or another pause or attempt has begun.
 */
export async function lockWaiting(
  tx: Tx,
  scope: OrgScope,
  { table }: CheckedRows,
  { id, attempt, sinceMs }: Pick<DueCheck, 'id' | 'attempt' | 'sinceMs'>,
): Promise<UpgradeHold | null> {
  const { rows } = await sql<{ hold: UpgradeHold | null }>`
    select hold from ${sql.table(table)}
    where org_id = ${scope.orgId} and id = ${id} and check_attempts = ${attempt} for update
  `.execute(tx)
  // Each pause counts its attempts from zero.
  const hold = rows[0]?.hold ?? null
  return (hold?.by === 'check' || hold?.by === 'time') && hold.since_ms === sinceMs ? hold : null
}

/** Sets the time of the next call of the check; null: never. The caller has locked the upgrade. */
export async function updateCheckDue(
  tx: Tx,
  { orgId, id }: Pick<DueCheck, 'orgId' | 'id'>,
  { table }: CheckedRows,
  dueMs: number | null,
): Promise<void> {
  await sql`update ${sql.table(table)} set check_due_ms = ${dueMs} where org_id = ${orgId} and id = ${id}`.execute(tx)
}

/** Ends the pause of the upgrade. The caller has locked it, and ends those of its site upgrades. */
export async function endHold(tx: Tx, scope: OrgScope, id: string): Promise<void> {
  await tx.updateTable('orgUpgrade').set({ hold: null }).where('orgId', '=', scope.orgId).where('id', '=', id).execute()
}

/**
 * Makes waits for an instant due, whose ends in service time are wrong after the wall clock has been set, or the service was down.
 * Those that are not over are postponed to their ends.
 */
export async function expediteWaits(db: Db, nowMs: number): Promise<void> {
  await sql`
    update org_upgrade set check_due_ms = ${nowMs}
    where check_due_ms > ${nowMs} and hold->>'by' = 'time' and hold->>'not_before_s' is not null
  `.execute(db)
}

/** Replaces why the upgrade and its site upgrades are paused. The caller has locked the organization upgrade. */
export async function replaceHold(tx: Tx, scope: InOrg, id: string, hold: UpgradeHold): Promise<void> {
  await tx
    .updateTable('orgUpgrade')
    .set({ hold: json(hold) })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
  await tx
    .updateTable('siteUpgrade')
    .set({ hold: json(hold) })
    .where('orgId', '=', scope.orgId)
    .where('orgUpgradeId', '=', id)
    .where('finishedAt', 'is', null)
    .where('hold', 'is not', null)
    .execute()
}
