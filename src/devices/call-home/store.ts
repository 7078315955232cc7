import type { InOrg, SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import { sql } from 'kysely'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import type { Device } from '../store.ts'

/** A known public key of a device. */
export interface HostKey {
  /** As OpenSSH writes it: `SHA256:` and 43 characters of base64. */
  readonly fingerprint: string
  readonly createdAt: Date
}

/** Returns the generation of the organization's secret; undefined if there is no such organization. */
export async function findSecretGeneration(reader: Reader, orgId: string): Promise<number | undefined> {
  const row = await reader
    .selectFrom('org')
    .leftJoin('callHomeSecret as secret', 'secret.orgId', 'org.id')
    .select('secret.generation')
    .where('org.id', '=', orgId)
    .executeTakeFirst()
  return row && (row.generation ?? 0)
}

/** Advances the generation of the organization's secret. @returns The new one. */
export async function advanceSecretGeneration(tx: Tx, scope: InOrg): Promise<number> {
  const row = await tx
    .insertInto('callHomeSecret')
    .values({ orgId: scope.orgId, generation: 1 })
    .onConflict((conflict) =>
      conflict.column('orgId').doUpdateSet({ generation: sql`call_home_secret.generation + 1` }),
    )
    .returning('generation')
    .executeTakeFirstOrThrow()
  return row.generation
}

/** Returns the organizations of the claimed devices that are known by the key, by device. */
export async function listDevicesByKey(reader: Reader, fingerprint: string): Promise<Map<string, string>> {
  const rows = await reader
    .selectFrom('deviceHostKey')
    .select(['orgId', 'deviceId'])
    .where('fingerprint', '=', fingerprint)
    .limit(100)
    .execute()
  return new Map(rows.map(({ orgId, deviceId }) => [deviceId, orgId]))
}

/** Lists the keys of a device, ordered by fingerprint. */
export function listHostKeys(reader: Reader, scope: InOrg, deviceId: string): Promise<HostKey[]> {
  return reader
    .selectFrom('deviceHostKey')
    .select(['fingerprint', 'createdAt'])
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', deviceId)
    .orderBy('fingerprint')
    .execute()
}

export type KeyedDevice = Pick<Device, 'id' | 'mac' | 'type' | 'name' | 'siteId'>

/** Locks a device against other changes of its keys until `tx` ends. */
export function lockKeyedDevice(tx: Tx, scope: InOrg, deviceId: string): Promise<KeyedDevice | undefined> {
  return tx
    .selectFrom('device')
    .select(['id', 'mac', 'type', 'name', 'siteId'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', deviceId)
    .forUpdate()
    .executeTakeFirst()
}

/** Finds a device in the sites of the scope. */
export function findKeyedDevice(reader: Reader, scope: SitesScope, deviceId: string): Promise<KeyedDevice | undefined> {
  return reader
    .selectFrom('device')
    .select(['id', 'mac', 'type', 'name', 'siteId'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', deviceId)
    .where(inSites(scope, sql.ref('device.site_id')))
    .executeTakeFirst()
}

/** Returns true if the device has connected before, or is in a manifest. */
export async function isRegistered(reader: Reader, deviceId: string): Promise<boolean> {
  const row = await reader.selectFrom('deviceRegistry').select('id').where('id', '=', deviceId).executeTakeFirst()
  return row !== undefined
}

/** Counts the unclaimed devices that proved the organization when they connected last, up to `max`. */
export async function countUnclaimedDevices(reader: Reader, scope: InOrg, max: number): Promise<number> {
  const found = await reader
    .selectFrom('deviceSession')
    .innerJoin('deviceRegistry', 'deviceRegistry.id', 'deviceSession.deviceId')
    .select('deviceSession.deviceId')
    .where('deviceSession.orgId', '=', scope.orgId)
    .where('deviceRegistry.orgId', 'is', null)
    .limit(max)
    .execute()
  return found.length
}

export interface NewHostKeys {
  readonly deviceId: string
  readonly fingerprints: readonly string[]
  readonly at: Date
}

export async function insertHostKeys(tx: Tx, scope: InOrg, { deviceId, fingerprints, at }: NewHostKeys): Promise<void> {
  if (fingerprints.length === 0) return
  await tx
    .insertInto('deviceHostKey')
    .values(fingerprints.map((fingerprint) => ({ orgId: scope.orgId, deviceId, fingerprint, createdAt: at })))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function deleteHostKeys(
  tx: Tx,
  scope: InOrg,
  { deviceId, fingerprints }: Pick<NewHostKeys, 'deviceId' | 'fingerprints'>,
): Promise<void> {
  if (fingerprints.length === 0) return
  await tx
    .deleteFrom('deviceHostKey')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', deviceId)
    .where('fingerprint', '=', anyOf(fingerprints))
    .execute()
}
