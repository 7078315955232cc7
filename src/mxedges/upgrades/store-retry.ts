import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { Reopening } from '../../rollout/changes/plan-retry.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { type Reader, type Tx, anyOf, json } from '../../platform/database/db.ts'
import { columnsOf, updateRows } from '../../platform/database/rows.ts'
import { MAX_RUNS, type MxedgeTargetCounts, type MxedgeTargetRun, type MxedgeUpgradeStatus } from './upgrade.ts'
import type { MxedgeUpgrade, MxedgeUpgradeTarget } from './store-records.ts'

/** Lists the failed targets of an upgrade, or those of the appliances that are named, in the order of the plan. */
export function listRetriable(
  reader: Reader,
  { orgId, id }: Pick<MxedgeUpgrade, 'orgId' | 'id'>,
  mxedgeIds: readonly string[] | null,
): Promise<MxedgeUpgradeTarget[]> {
  const all = reader
    .selectFrom('mxedgeUpgradeTarget')
    .selectAll()
    .where('orgId', '=', orgId)
    .where('upgradeId', '=', id)
  const wanted = mxedgeIds === null ? all.where('state', '=', 'failed') : all.where('mxedgeId', '=', anyOf(mxedgeIds))
  return wanted.orderBy('ordinal').execute()
}

const targetColumns = columnsOf('mxedgeUpgradeTarget', {
  orgId: 'uuid',
  upgradeId: 'uuid',
  mxedgeId: 'uuid',
  runs: 'jsonb',
  enteredMs: 'float8',
})

/** Begins another run of failed targets of a locked upgrade. The steps that are done stay done. */
export async function beginTargetRuns(
  tx: Tx,
  { orgId }: InOrg,
  targets: readonly MxedgeUpgradeTarget[],
  { retrying, nowMs }: { readonly retrying: Omit<MxedgeTargetRun, 'reason'>; readonly nowMs: number },
): Promise<void> {
  const rows = targets.map(({ upgradeId, mxedgeId, reason, runs }) => {
    const run = { reason: reason ?? 'unknown', ...retrying }
    return { orgId, upgradeId, mxedgeId, runs: [...runs, run].slice(-MAX_RUNS), enteredMs: nowMs }
  })
  await updateRows(tx, targetColumns, rows, {
    key: ['orgId', 'upgradeId', 'mxedgeId'],
    set: sql`state = 'planned', reason = null, failed_attempts = 0, lost_attempts = 0, retry_at_ms = null,
      command_id = null, staged = mxedge_upgrade_target.step`,
  })
}

/** Makes a locked upgrade continue, and search again for appliances to join if it did. */
export async function reopenUpgrade(
  tx: Tx,
  { orgId, id }: Pick<MxedgeUpgrade, 'orgId' | 'id'>,
  {
    reopening,
    nowMs,
  }: { readonly reopening: Reopening<MxedgeUpgradeStatus, MxedgeTargetCounts>; readonly nowMs: number },
): Promise<void> {
  const { counts, hardFailures, hold, ...change } = reopening
  await tx
    .updateTable('mxedgeUpgrade')
    .set({
      ...change,
      counts: json(counts),
      hardFailures: json(hardFailures),
      hold: hold && json(hold),
      stopping: null,
      finishedAt: null,
      includeDueMs: sql`case when joining is not null then coalesce(include_due_ms, ${nowMs}::float8) end`,
    })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
  noteChanges(tx, 'mxedge_upgrade', [{ orgId, id }])
}
