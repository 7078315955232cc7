import { type Selectable, sql } from 'kysely'
import type { OrgScope } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import type { OrgPhases, OrgPhasesChange } from './decide-org-phases.ts'
import { listApproved, listHurried } from '../gates/approvals.ts'
import { firstCheck } from './store.ts'
import type { OrgUpgradeTable } from '../tables.ts'

/** Null if the downloads have no phases that are shares of the whole upgrade. */
export function orgDownloadsOf({
  downloadPlan: plan,
  downloads,
  hold,
  stopping,
  approvals,
}: Pick<
  Selectable<OrgUpgradeTable>,
  'downloadPlan' | 'downloads' | 'hold' | 'stopping' | 'approvals'
>): OrgPhases | null {
  if (plan === null || downloads === null) return null
  const { current, gate_passed: gatePassed, pending, failures, downloaded } = downloads
  const counters = {
    current,
    gatePassed,
    pending,
    failures,
    upgraded: downloaded,
    approved: listApproved(approvals, 'downloads'),
    hurried: listHurried(approvals, 'downloads'),
  }
  return { of: 'downloads', sizes: plan.phase_sizes, gates: plan.gates, ...counters, hold, stopping }
}

/** Updates the counters of the phases, and which of them is open. The caller has locked the organization upgrade. */
export async function updateOrgDownloads(
  tx: Tx,
  scope: OrgScope,
  orgUpgradeId: string,
  { current, pending, failures, upgraded: downloaded, hold }: OrgPhasesChange,
): Promise<void> {
  await tx
    .updateTable('orgUpgrade')
    .set({
      downloads: sql`downloads || ${JSON.stringify({ current, pending, failures, downloaded })}::jsonb`,
      ...firstCheck(hold),
    })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', orgUpgradeId)
    .execute()
}

/**
 * Opens a phase of the downloads at all sites, in one statement. The caller has locked the organization upgrade.
 * @param phase From 1.
 */
export async function openDownloadPhase(
  tx: Tx,
  scope: OrgScope,
  orgUpgradeId: string,
  { phase, nowMs }: { readonly phase: number; readonly nowMs: number },
): Promise<void> {
  const size = sql`(plan->'downloads'->'phase_sizes'->>${phase - 1}::integer)::integer`
  await sql`
    update site_upgrade set
      downloads = jsonb_set(downloads, '{current}', to_jsonb(${phase}::integer)),
      due_ms = case when phase_opened_ms is not null and ${size} > 0 then ${nowMs}::float8 else due_ms end
    where org_id = ${scope.orgId} and org_upgrade_id = ${orgUpgradeId} and finished_at is null and stopping is null
      and downloads is not null
  `.execute(tx)
}
