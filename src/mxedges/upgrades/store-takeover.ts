import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Tx, anyOf } from '../../platform/database/db.ts'
import type { ReleasedAppliance } from './store-release.ts'
import { listUpgradeNames } from './store-records.ts'
import type { MxedgeStep } from './upgrade.ts'

/** Locks the upgrades of the organization that have not ended, in the order of their ids, as the worker does. */
export async function lockUnfinishedUpgrades(tx: Tx, scope: InOrg): Promise<void> {
  await tx
    .selectFrom('mxedgeUpgrade')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('finishedAt', 'is', null)
    .orderBy('id')
    .forUpdate()
    .execute()
}

/** An appliance that was not commanded yet in the upgrade that it is part of. */
export interface TakenAppliance extends ReleasedAppliance {
  readonly state: 'planned' | 'deferred'
  readonly upgradeName: string | null
  /** What the upgrade has yet to install. */
  readonly steps: readonly MxedgeStep[]
}

/** Lists those of the appliances that another upgrade may take over. The caller has locked their upgrades. */
export async function listTakeable(tx: Tx, scope: InOrg, mxedgeIds: readonly string[]): Promise<TakenAppliance[]> {
  const { rows } = await sql<Omit<TakenAppliance, 'upgradeName'> & { readonly step: number }>`
    select mxedge_id, upgrade_id as org_upgrade_id, phase, state, steps, step from mxedge_upgrade_target
    where org_id = ${scope.orgId} and mxedge_id = ${anyOf(mxedgeIds)} and command_id is null
      and state in ('planned', 'deferred')
    order by mxedge_id
  `.execute(tx)
  // A request may be long, so it is read once for each upgrade, not for each appliance.
  const names = await listUpgradeNames(tx, scope, [...new Set(rows.map(({ orgUpgradeId }) => orgUpgradeId))])
  return rows.map(({ step, ...target }) =>
    Object.assign(target, {
      steps: target.steps.slice(step),
      upgradeName: names.get(target.orgUpgradeId) ?? null,
    }),
  )
}
