import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { listUpgradeNames } from '../events/store.ts'
import type { TakenTarget, VersionChange } from './plan-takeover.ts'

/** Lists the targets of running upgrades that have these devices and have not begun with them. */
export async function listTakeable(
  reader: Reader,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<readonly TakenTarget[]> {
  const { rows } = await sql<Omit<TakenTarget, 'upgradeName'>>`
    select active.device_id, target.mac, active.upgrade_id, active.org_upgrade_id, target.phase, target.download_phase,
      target.staged, target.fetched, target.state, target.target_version, target.path, target.attempt
    from device_upgrade active
    join upgrade_target target on target.org_id = active.org_id and target.upgrade_id = active.upgrade_id
      and target.device_id = active.device_id
    where active.org_id = ${scope.orgId} and active.device_id = ${anyOf(deviceIds)}
      and target.state in ('planned', 'deferred') and target.command_id is null
    order by active.device_id
  `.execute(reader)
  // A request may be long, so it is read once for each upgrade, not for each device.
  const names = await listUpgradeNames(reader, scope, [...new Set(rows.map(({ orgUpgradeId }) => orgUpgradeId))])
  return rows.map((row) => Object.assign({ upgradeName: names.get(row.orgUpgradeId) ?? null }, row))
}

/**
 * Returns what the upgrade that has each of these devices does to its version: a device that is being restored loses the one that the
 * upgrade has given it, and it is not known which one it returns to. Devices that no upgrade has, or for which it only downloads, keep
 * theirs and are left out.
 */
export async function listVersionChanges(
  reader: Reader,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<ReadonlyMap<string, VersionChange>> {
  const { rows } = await sql<VersionChange & { readonly deviceId: string }>`
    with active as materialized (
      select device_id, upgrade_id from device_upgrade
      where org_id = ${scope.orgId} and device_id = ${anyOf(deviceIds)} and upgrade_id is not null)
    select active.device_id, case when last.is_restored then 'loses' else 'gets' end as kind,
      case when last.is_restored then last.target_version else coalesce(last.path->-1->>'version', last.target_version) end as version
    from active
    cross join lateral (
      select target.state = 'rolling_back' as is_restored, target.target_version, target.path
      from upgrade_target target
      join site_upgrade part on part.org_id = target.org_id and part.id = target.upgrade_id
      where target.org_id = ${scope.orgId} and target.upgrade_id = active.upgrade_id and target.device_id = active.device_id
        and part.plan->>'only' is distinct from 'stage'
      limit 1) last
  `.execute(reader)
  return new Map(rows.map(({ deviceId, kind, version }) => [deviceId, { kind, version }]))
}

/**
 * Locks the upgrades that have these devices, in the common lock order: organization upgrades by id, then their site
 * upgrades by id.
 * @returns The targets that may be taken over; until `tx` ends none of them begins.
 */
export async function lockTakeable(
  tx: Tx,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<readonly TakenTarget[]> {
  const found = await listTakeable(tx, scope, deviceIds)
  const orgUpgradeIds = new Set(found.map(({ orgUpgradeId }) => orgUpgradeId))
  await tx
    .selectFrom('orgUpgrade')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf([...orgUpgradeIds]))
    .orderBy('id')
    .forUpdate()
    .execute()
  await tx
    .selectFrom('siteUpgrade')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf([...new Set(found.map(({ upgradeId }) => upgradeId))]))
    .orderBy('id')
    .forUpdate()
    .execute()
  // Targets that have begun since, or have moved to an upgrade that is not locked, stay there.
  const locked = new Set(found.map(({ upgradeId }) => upgradeId))
  return (await listTakeable(tx, scope, deviceIds)).filter(({ upgradeId }) => locked.has(upgradeId))
}
