import { type Selectable, sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import { type Tx, json } from '../../platform/database/db.ts'
import type { OrgUpgradeTable, PhaseApproval, UpgradeHold } from '../tables.ts'
import { waitEndMs } from '../gates/decide-wait.ts'
import { listApproved, listHurried } from '../gates/approvals.ts'
import type { OrgPhases, OrgPhasesChange } from './decide-org-phases.ts'

type OrgPhasesRow = Pick<
  Selectable<OrgUpgradeTable>,
  | 'phasePlan'
  | 'currentPhase'
  | 'gatePassed'
  | 'pendingByPhase'
  | 'failuresByPhase'
  | 'upgradedByPhase'
  | 'hold'
  | 'stopping'
  | 'approvals'
>

/** Null if each site has its own phases. */
export function orgPhasesOf(row: OrgPhasesRow): OrgPhases | null {
  const { phasePlan, gatePassed, hold, stopping, approvals } = row
  if (phasePlan === null) return null
  return {
    sizes: phasePlan.phase_sizes,
    gates: phasePlan.gates,
    current: row.currentPhase,
    gatePassed,
    approved: listApproved(approvals, undefined),
    hurried: listHurried(approvals, undefined),
    pending: row.pendingByPhase,
    failures: row.failuresByPhase,
    upgraded: row.upgradedByPhase,
    hold,
    stopping,
  }
}

/** The columns of an upgrade that begins to wait for a check, which is called immediately, or for a time. */
export function firstCheck(hold: UpgradeHold | null) {
  if (hold?.by === 'time') {
    const began = { now: new Date(hold.since_s * 1000), nowMs: hold.since_ms }
    return { checkDueMs: waitEndMs(hold, began), checkAttempts: 0 }
  }
  return hold?.by === 'check' ? { checkDueMs: hold.since_ms, checkAttempts: 0 } : {}
}

/** Updates the counters of the phases, and which of them is open. The caller has locked the organization upgrade. */
export async function updateOrgPhases(
  tx: Tx,
  scope: OrgScope,
  orgUpgradeId: string,
  { current, pending, failures, upgraded, hold }: OrgPhasesChange,
): Promise<void> {
  await tx
    .updateTable('orgUpgrade')
    .set({
      currentPhase: current,
      pendingByPhase: json(pending),
      failuresByPhase: json(failures),
      upgradedByPhase: json(upgraded),
      ...firstCheck(hold),
    })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', orgUpgradeId)
    .execute()
}

/**
 * Opens a phase at all running sites, in one statement. The engine immediately visits sites with devices in it. A site
 * that has not started yet opens it at its start. The caller has locked the organization upgrade.
 */
export async function openPhase(
  tx: Tx,
  scope: OrgScope,
  orgUpgradeId: string,
  { phase, nowMs }: { readonly phase: number; readonly nowMs: number },
): Promise<void> {
  await sql`
    update site_upgrade set
      current_phase = ${phase}::integer,
      phase_opened_ms = case when phase_opened_ms is null then null else ${nowMs}::float8 end,
      due_ms = case when phase_opened_ms is not null and (plan->'phase_sizes'->>${phase - 1}::integer)::integer > 0
        then ${nowMs}::float8 else due_ms end
    where org_id = ${scope.orgId} and org_upgrade_id = ${orgUpgradeId} and finished_at is null and stopping is null
  `.execute(tx)
}

/** Records a person's approval of a phase. The caller has locked the organization upgrade. */
export async function insertApproval(
  tx: Tx,
  scope: InOrg,
  orgUpgradeId: string,
  approval: PhaseApproval,
): Promise<void> {
  await tx
    .updateTable('orgUpgrade')
    .set({ approvals: sql`approvals || ${JSON.stringify([approval])}::jsonb` })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', orgUpgradeId)
    .execute()
}
