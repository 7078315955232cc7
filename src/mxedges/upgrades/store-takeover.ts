import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Tx, anyOf } from '../../platform/database/db.ts'
import type { ReleasedAppliance } from './store-release.ts'
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
  const { rows } = await sql<TakenAppliance & { readonly step: number }>`
    select target.mxedge_id, target.upgrade_id as org_upgrade_id, target.phase, target.state, target.steps, target.step,
      upgrade.request->>'name' as upgrade_name
    from mxedge_upgrade_target target
    join mxedge_upgrade upgrade on upgrade.org_id = target.org_id and upgrade.id = target.upgrade_id
    where target.org_id = ${scope.orgId} and target.mxedge_id = ${anyOf(mxedgeIds)} and target.command_id is null
      and target.state in ('planned', 'deferred')
    order by target.mxedge_id
  `.execute(tx)
  return rows.map(({ step, ...target }) => Object.assign(target, { steps: target.steps.slice(step) }))
}
