import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Tx, anyOf } from '../../platform/database/db.ts'
import type { TargetState } from '../rollout.ts'
import type { OnItsWay } from '../targets/hops/hops.ts'
import type { ReleasedTarget } from './plan-release.ts'

/** A target that a request names. */
export interface NamedTarget extends Omit<ReleasedTarget, 'state'>, OnItsWay {
  readonly siteId: string
  readonly state: TargetState
}

/**
 * Lists the targets of these devices in the organization upgrade, which the caller has locked, and locks their site upgrades
 * by id.
 * @param only The id of the only site upgrade that is concerned; null: all are.
 */
export async function lockNamed(
  tx: Tx,
  scope: InOrg,
  {
    orgUpgradeId,
    only,
    macs,
  }: { readonly orgUpgradeId: string; readonly only: string | null; readonly macs: readonly string[] },
): Promise<NamedTarget[]> {
  const { rows } = await sql<NamedTarget>`
    with part as materialized (
      select id, site_id, org_upgrade_id from site_upgrade
      where org_id = ${scope.orgId} and org_upgrade_id = ${orgUpgradeId}
        and (${only}::uuid is null or id = ${only}::uuid)
      order by id for update
    )
    select target.device_id, target.mac, target.upgrade_id, part.org_upgrade_id, part.site_id, target.phase,
      target.download_phase, target.staged, target.fetched, target.state, target.target_version, target.path, target.attempt
    from part
    join upgrade_target target on target.org_id = ${scope.orgId} and target.upgrade_id = part.id
    where target.mac = ${anyOf(macs)}
    order by target.upgrade_id, target.ordinal, target.mac
  `.execute(tx)
  return rows
}
