import { type Tx, anyOf } from '../../platform/database/db.ts'
import type { StepCommand } from './target.ts'
import type { MxedgeUpgrade } from './store-records.ts'
import type { ReleasedAppliance } from './store-release.ts'

/** A target that a request names, with its latest command; null: there is none. */
export interface NamedAppliance extends ReleasedAppliance {
  readonly commandId: string | null
  readonly commandState: StepCommand['state'] | null
}

/** Lists the targets of these appliances in a locked upgrade, in the order of the plan. */
export function listNamed(
  tx: Tx,
  { orgId, id }: Pick<MxedgeUpgrade, 'orgId' | 'id'>,
  mxedgeIds: readonly string[],
): Promise<NamedAppliance[]> {
  return tx
    .selectFrom('mxedgeUpgradeTarget as target')
    .leftJoin('mxedgeCommand as command', (join) =>
      join.onRef('command.orgId', '=', 'target.orgId').onRef('command.id', '=', 'target.commandId'),
    )
    .select(['target.mxedgeId', 'target.upgradeId as orgUpgradeId', 'target.phase', 'target.state', 'target.commandId'])
    .select('command.state as commandState')
    .where('target.orgId', '=', orgId)
    .where('target.upgradeId', '=', id)
    .where('target.mxedgeId', '=', anyOf(mxedgeIds))
    .orderBy('target.ordinal')
    .execute()
}
