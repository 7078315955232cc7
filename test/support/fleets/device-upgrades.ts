import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { fwUpdateOf } from '../../../src/devices/stats/store-fwupdates.ts'
import type { FwUpdate } from '../../../src/devices/tables.ts'
import type { Db } from '../../../src/platform/database/db.ts'

/** Gives a device to an upgrade that does not exist, as far as its row says. */
export async function giveToUpgrade(
  db: Db,
  deviceId: string,
  upgrade: { readonly orgUpgradeId?: string; readonly inFlight?: boolean } = {},
): Promise<void> {
  const { orgUpgradeId = randomUUID(), inFlight = false } = upgrade
  const ids = { upgradeId: randomUUID(), orgUpgradeId, imageId: randomUUID() }
  await db
    .updateTable('deviceUpgrade')
    .set({ ...ids, inFlight })
    .where('deviceId', '=', deviceId)
    .execute()
}

/** Releases all devices from their upgrades, as the engine does at the ends of their targets. */
export async function releaseDevices(db: Db): Promise<void> {
  const none = { upgradeId: null, orgUpgradeId: null, imageId: null, laterImages: null, inFlight: false }
  await db.updateTable('deviceUpgrade').set(none).execute()
}

/** Sets what the statistics of a device show of its update. */
export async function setFwUpdate(
  db: Db,
  deviceId: string,
  { progress, status, status_id: statusId, timestamp, will_retry: willRetry }: FwUpdate,
): Promise<void> {
  const shown = { progress, status, statusId, willRetry, shownAt: new Date(timestamp * 1000) }
  await db.updateTable('deviceUpgrade').set(shown).where('deviceId', '=', deviceId).execute()
}

/** Returns the updates in the statistics of the devices, in the order of the devices' ids. */
export async function listFwUpdates(db: Db, deviceId?: string): Promise<(FwUpdate | null)[]> {
  let query = db
    .selectFrom('deviceUpgrade')
    .select(sql<FwUpdate | null>`${fwUpdateOf(sql`device_upgrade`)}`.as('shown'))
  if (deviceId !== undefined) query = query.where('deviceId', '=', deviceId)
  return (await query.orderBy('deviceId').execute()).map(({ shown }) => shown)
}
