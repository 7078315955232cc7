import { sql } from 'kysely'
import type { OrgScope } from '../access/scope.ts'
import { type Tx, json } from '../platform/db.ts'
import type { UpgradeHold } from './rollout.ts'

/**
 * Holds the site upgrades of the org upgrade that are going on. The caller holds the org upgrade's lock.
 * @returns How many.
 */
export async function holdJobs(
  tx: Tx,
  scope: OrgScope,
  orgUpgradeId: string,
  { hold, at }: { readonly hold: UpgradeHold; readonly at: Date },
): Promise<number> {
  const result = await tx
    .updateTable('siteUpgrade')
    .set({ hold: json(hold), dueAt: at })
    .where('orgId', '=', scope.orgId)
    .where('orgUpgradeId', '=', orgUpgradeId)
    .where('finishedAt', 'is', null)
    .where('stopping', 'is', null)
    .where('hold', 'is', null)
    .executeTakeFirst()
  return Number(result.numUpdatedRows)
}

/**
 * Ends the holds of the org upgrade's site upgrades; the gate at which one was held is not asked again.
 * Absent devices are waited for that much longer. The caller holds the org upgrade's lock.
 * @returns How many.
 */
export async function resumeJobs(tx: Tx, scope: OrgScope, orgUpgradeId: string, at: Date): Promise<number> {
  const result = await tx
    .updateTable('siteUpgrade')
    .set({
      hold: null,
      dueAt: at,
      gatePassed: sql<number>`case when hold->>'by' = 'gate' then current_phase else gate_passed end`,
      phaseOpenedAt: sql<Date | null>`phase_opened_at
        + (${at}::timestamptz - greatest(phase_opened_at, to_timestamp((hold->>'since_s')::float8)))`,
    })
    .where('orgId', '=', scope.orgId)
    .where('orgUpgradeId', '=', orgUpgradeId)
    .where('finishedAt', 'is', null)
    .where('hold', 'is not', null)
    .executeTakeFirst()
  return Number(result.numUpdatedRows)
}
