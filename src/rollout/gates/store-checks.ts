import { sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import { type Db, type Tx, json } from '../../platform/database/db.ts'
import type { GateWait, UpgradeHold } from '../rollout.ts'

/** A check that is due, or a wait that has ended. */
export interface DueCheck {
  readonly orgId: string
  /** The id of the organization upgrade. */
  readonly id: string
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

interface ClaimedChecks {
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
  { nowMs, leaseUntilMs, limit, perOrg, running }: ClaimedChecks,
): Promise<DueCheck[]> {
  const { rows } = await sql<DueCheck & { readonly isWanted: boolean }>`
    with running as (
      select org_id, count(*) as number from unnest(${running}::uuid[]) org_id group by org_id
    ), placed as (
      select org_id, id, check_due_ms, hold->>'by' = 'time' as asks_nobody,
        row_number() over (partition by org_id, hold->>'by' order by check_due_ms) as place
      from org_upgrade where check_due_ms <= ${nowMs}
    ), next as (
      select placed.org_id, id from placed left join running on running.org_id = placed.org_id
      where asks_nobody or place <= ${perOrg} - coalesce(number, 0) order by check_due_ms limit ${limit}
    ), due as (
      select org_id, id from org_upgrade where (org_id, id) in (select org_id, id from next) and check_due_ms <= ${nowMs}
      for update skip locked
    ), claimed as (
      update org_upgrade upgrade set
        check_due_ms = case when upgrade.hold->>'by' in ('check', 'time') then ${leaseUntilMs}::float8 end,
        check_attempts = upgrade.check_attempts + 1
      from due where upgrade.org_id = due.org_id and upgrade.id = due.id
      returning upgrade.*
    ), asked as (
      select org_id, id, hold, 'downloads' as of, (downloads->>'current')::integer as phase, download_plan as plan,
        downloads->'downloaded' as upgraded, downloads->'failures' as failures
      from claimed where hold->>'of' = 'downloads'
      union all
      select org_id, id, hold, null, current_phase, phase_plan, upgraded_by_phase, failures_by_phase
      from claimed where hold->>'of' is null
    )
    select org_id, id, of, phase, plan->'gates'->(phase - 1)->>'wait_for' as wait_for,
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
 * Locks the organization upgrade if it still waits for this attempt of its check.
 * @returns Its pause; null: a person has resumed, paused or stopped it, or another pause or attempt has begun.
 */
export async function lockWaiting(
  tx: Tx,
  scope: OrgScope,
  { id, attempt, sinceMs }: Pick<DueCheck, 'id' | 'attempt' | 'sinceMs'>,
): Promise<UpgradeHold | null> {
  const row = await tx
    .selectFrom('orgUpgrade')
    .select('hold')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('checkAttempts', '=', attempt)
    .forUpdate()
    .executeTakeFirst()
  // Each pause counts its attempts from zero.
  const hold = row?.hold ?? null
  return (hold?.by === 'check' || hold?.by === 'time') && hold.since_ms === sinceMs ? hold : null
}

/** Sets the time of the next call of the check; null: never. The caller has locked the organization upgrade. */
export async function updateCheckDue(tx: Tx, scope: OrgScope, id: string, dueMs: number | null): Promise<void> {
  await tx
    .updateTable('orgUpgrade')
    .set({ checkDueMs: dueMs })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
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
