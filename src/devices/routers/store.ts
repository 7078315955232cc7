import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, countRows } from '../../platform/database/db.ts'
import { statement } from '../../platform/database/statement.ts'
import type { RegisteredDevice } from '../registry/store.ts'

/** Locks the registry's row of a device, claimed or not. There is no tenant yet: the caller compares the owner. */
export function lockRegistered(tx: Tx, deviceId: string): Promise<RegisteredDevice | undefined> {
  return tx.selectFrom('deviceRegistry').selectAll().where('id', '=', deviceId).forUpdate().executeTakeFirst()
}

/** Inserts an unknown device. @returns False if it was inserted concurrently. */
export async function insertRegistered(
  tx: Tx,
  device: Omit<RegisteredDevice, 'orgId' | 'firmware' | 'lastSeenAt'>,
): Promise<boolean> {
  const inserted = await tx
    .insertInto('deviceRegistry')
    .values(device)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst()
  return inserted !== undefined
}

/** Returns how many routers have registered that are in no site. */
export function countUnassignedRouters(tx: Tx, scope: InOrg): Promise<number> {
  return countRows(
    tx
      .selectFrom('routerKey')
      .innerJoin('device', (join) =>
        join.onRef('device.orgId', '=', 'routerKey.orgId').onRef('device.id', '=', 'routerKey.deviceId'),
      )
      .where('routerKey.orgId', '=', scope.orgId)
      .where('device.siteId', 'is', null),
  )
}

/** Returns the protocol by which the device connected last; undefined if it never did. */
export async function findFamily(tx: Tx, deviceId: string): Promise<string | undefined> {
  const row = await tx.selectFrom('deviceSession').select('family').where('deviceId', '=', deviceId).executeTakeFirst()
  return row?.family
}

/** The identity of a registered router, and the key that proves it. */
export interface RouterKey {
  readonly orgId: string
  readonly deviceId: string
  readonly keySha256: string
  /** Counts as well, until the router uses it and it replaces the other. */
  readonly renewalKeySha256: string | null
}

/** True for a key by which a router may connect. */
export function isKeyOf({ keySha256, renewalKeySha256 }: RouterKey, key: string | undefined): boolean {
  return key !== undefined && (key === keySha256 || key === renewalKeySha256)
}

/** Lists the keys of those of the devices that are registered routers, whichever organization has them. */
export function listRouterKeys(reader: Reader, deviceIds: readonly string[]): Promise<RouterKey[]> {
  return selectKeys(reader, { deviceIds })
}

const selectKeys = statement<{ readonly deviceIds: readonly string[] }, RouterKey>(
  (param) => sql`
    select org_id, device_id, key_sha256, renewal_key_sha256 from router_key where device_id = any(${param('deviceIds')})
  `,
)

export async function insertRouterKey(
  tx: Tx,
  scope: InOrg,
  { deviceId, keySha256, at }: { readonly deviceId: string; readonly keySha256: string; readonly at: Date },
): Promise<void> {
  await tx.insertInto('routerKey').values({ orgId: scope.orgId, deviceId, keySha256, registeredAt: at }).execute()
}

/** A session by which a router renews its certificate, with the key that it has proved. */
export interface RenewingRouter {
  readonly deviceId: string
  readonly keySha256: string
  /** The epoch of the router's session. */
  readonly epoch: string
}

/**
 * Admits another key beside the registered one.
 * @returns False if the router has another session by now, or another registered key.
 */
export async function updateRenewalKey(
  tx: Tx,
  { deviceId, keySha256, epoch }: RenewingRouter,
  renewalKey: string,
): Promise<boolean> {
  const { rows } = await sql`
    update router_key set renewal_key_sha256 = ${renewalKey}
    from device_session session
    where router_key.device_id = ${deviceId} and router_key.key_sha256 = ${keySha256}
      and session.device_id = router_key.device_id and session.epoch = ${epoch}
    returning router_key.device_id
  `.execute(tx)
  return rows.length > 0
}

/** Makes the key that a router has renewed its certificate with the only one. */
export async function updateRenewed(tx: Tx, { orgId, deviceId }: RouterKey): Promise<void> {
  await tx
    .updateTable('routerKey')
    .set({ keySha256: sql<string>`renewal_key_sha256`, renewalKeySha256: null })
    .where('orgId', '=', orgId)
    .where('deviceId', '=', deviceId)
    .where('renewalKeySha256', 'is not', null)
    .execute()
}

/** Prevents the deletion of the organization until `tx` ends. @returns False if there is no such organization. */
export async function shareOrgOfCode(tx: Tx, scope: InOrg): Promise<boolean> {
  const org = await tx
    .selectFrom('org')
    .select(sql`1`.as('one'))
    .where('id', '=', scope.orgId)
    .forKeyShare()
    .execute()
  return org.length > 0
}
