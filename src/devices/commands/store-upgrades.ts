import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Tx, anyOf } from '../../platform/db.ts'
import { inFlightStates } from './upgrade-target.ts'

/**
 * The organization upgrade that is in flight on the device. The device's target stays locked against the
 * rollout engine until `tx` ends: a round that commands the device comes either before this call, which then
 * sees it, or after `tx`. Must be called before `tx` locks the device's status, as the engine does.
 */
export async function shareUpgradeInFlight(tx: Tx, scope: InOrg, deviceId: string): Promise<string | undefined> {
  const target = await tx
    .selectFrom('activeUpgradeTarget as active')
    .innerJoin('upgradeTarget as target', (on) =>
      on
        .onRef('target.orgId', '=', 'active.orgId')
        .onRef('target.upgradeId', '=', 'active.upgradeId')
        .onRef('target.deviceId', '=', 'active.deviceId'),
    )
    .innerJoin('siteUpgrade', (on) =>
      on.onRef('siteUpgrade.orgId', '=', 'active.orgId').onRef('siteUpgrade.id', '=', 'active.upgradeId'),
    )
    .select(['target.state', 'siteUpgrade.orgUpgradeId'])
    .where('active.orgId', '=', scope.orgId)
    .where('active.deviceId', '=', deviceId)
    .forShare('target')
    .executeTakeFirst()
  return target !== undefined && inFlightStates.some((state) => state === target.state)
    ? target.orgUpgradeId
    : undefined
}

/**
 * SQL condition on `command`, a queued device command: it is a restart that would disturb an upgrade which has
 * reached the device. The check at the time of the request can miss an upgrade that is created at the same moment.
 */
export const disturbsUpgrade: RawBuilder<boolean> = sql<boolean>`(
  command.site_upgrade_id is null and command.kind = 'restart' and coalesce((
    select target.state = ${anyOf(inFlightStates)} and latest.state <> 'queued'
    from active_upgrade_target active
    join upgrade_target target on target.org_id = active.org_id and target.upgrade_id = active.upgrade_id
      and target.device_id = active.device_id
    join device_command latest on latest.org_id = target.org_id and latest.id = target.command_id
    where active.org_id = command.org_id and active.device_id = command.device_id), false))`
