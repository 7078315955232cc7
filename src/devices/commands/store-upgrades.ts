import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf } from '../../platform/db.ts'
import { columnsOf, insertRows, updateRows } from '../../platform/rows.ts'

/** An upgrade that has a device to itself, from its creation until the device's target ends. */
export interface ActiveTarget {
  readonly deviceId: string
  /** The id of the site upgrade. */
  readonly upgradeId: string
  readonly orgUpgradeId: string
  readonly imageId: string
  /** The images that it gives the device afterwards; null: none. */
  readonly laterImages: readonly string[] | null
}

const activeColumns = columnsOf('activeUpgradeTarget', {
  orgId: 'uuid',
  deviceId: 'uuid',
  upgradeId: 'uuid',
  orgUpgradeId: 'uuid',
  imageId: 'uuid',
  laterImages: 'jsonb',
})

/**
 * Assigns devices to upgrades, except those that another upgrade already has.
 * @returns The ids of the assigned devices.
 */
export async function insertActiveTargets(tx: Tx, scope: InOrg, wanted: readonly ActiveTarget[]): Promise<Set<string>> {
  // Concurrent requests lock in the order of the ids, so they can't deadlock.
  const given = await insertRows(tx, activeColumns, wanted, {
    every: { orgId: scope.orgId },
    tail: sql<{ deviceId: string }>`order by device_id on conflict do nothing returning device_id`,
  })
  return new Set(given.map(({ deviceId }) => deviceId))
}

/** Assigns devices that an upgrade has to these upgrades, or other images of the same one. The caller has locked both. */
export async function updateActiveTargets(tx: Tx, scope: InOrg, taken: readonly ActiveTarget[]): Promise<void> {
  const rows = taken.map((target) => ({ ...target, orgId: scope.orgId }))
  await updateRows(tx, activeColumns, rows, { key: ['orgId', 'deviceId'] })
}

/** Records that upgrades are in flight on the devices from now on, or no longer. */
export async function updateInFlight(
  tx: Tx,
  scope: InOrg,
  deviceIds: readonly string[],
  inFlight: boolean,
): Promise<void> {
  if (deviceIds.length === 0) return
  await tx
    .updateTable('activeUpgradeTarget')
    .set({ inFlight })
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', anyOf(deviceIds))
    .execute()
}

/** Releases the devices from their upgrades. */
export async function deleteActiveTargets(tx: Tx, scope: InOrg, deviceIds: readonly string[]): Promise<void> {
  if (deviceIds.length === 0) return
  await tx
    .deleteFrom('activeUpgradeTarget')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', anyOf(deviceIds))
    .execute()
}

/** Lists those of the devices that an upgrade has to itself. */
export async function listActiveDevices(
  reader: Reader,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const active = await reader
    .selectFrom('activeUpgradeTarget')
    .select('deviceId')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', anyOf(deviceIds))
    .execute()
  return new Set(active.map(({ deviceId }) => deviceId))
}

/** Returns the id of the site upgrade that has the device to itself. */
export async function findActiveUpgrade(reader: Reader, scope: InOrg, deviceId: string): Promise<string | undefined> {
  const active = await reader
    .selectFrom('activeUpgradeTarget')
    .select('upgradeId')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', deviceId)
    .executeTakeFirst()
  return active?.upgradeId
}

/**
 * Returns the organization upgrades that are in flight on the devices, by the device's id. The rows stay locked against
 * the rollout engine until `tx` ends: a round that commands a device comes either before this call, which then sees it,
 * or after `tx`. Call it before `tx` locks the status of a device, as the engine does.
 */
export async function shareUpgradesInFlight(
  tx: Tx,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const active = await tx
    .selectFrom('activeUpgradeTarget')
    .select(['deviceId', 'inFlight', 'orgUpgradeId'])
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', anyOf(deviceIds))
    .orderBy('deviceId')
    .forShare()
    .execute()
  return new Map(active.flatMap(({ deviceId, inFlight, orgUpgradeId }) => (inFlight ? [[deviceId, orgUpgradeId]] : [])))
}

/**
 * SQL condition on `command`, a queued device command: true for one that would disturb an upgrade which has
 * reached the device. The check at the time of the request can miss an upgrade that is created at the same moment.
 */
export const disturbsUpgrade: RawBuilder<boolean> = sql<boolean>`(
  command.site_upgrade_id is null and command.kind in ('restart', 'restore_backup', 'snapshot') and exists (
    select from active_upgrade_target active
    where active.org_id = command.org_id and active.device_id = command.device_id and active.in_flight
      and not exists (
        select from device_command own
        where own.device_id = command.device_id and own.state = 'queued' and own.site_upgrade_id = active.upgrade_id)))`

/**
 * Returns the images that devices have downloaded, but have not been commanded to install since, by the id of the
 * device. The commands are the only evidence.
 */
export async function listStagedImages(
  reader: Reader,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ deviceId: string; imageId: string }>`
    select wanted.id as device_id, last.params->>'image_id' as image_id
    from unnest(${deviceIds}::uuid[]) as wanted (id)
    cross join lateral (
      select kind, state, params from device_command
      where org_id = ${scope.orgId} and device_id = wanted.id and kind in ('upgrade', 'stage', 'activate')
      order by id desc limit 1) last
    where last.kind = 'stage' and last.state = 'done'
  `.execute(reader)
  return new Map(rows.map(({ deviceId, imageId }) => [deviceId, imageId]))
}
