import { type Selectable, sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, insertRows, updateRows } from '../../platform/database/rows.ts'
import type { DeviceRegistryTable } from '../tables.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import type { ManifestItem } from './plan-import.ts'

/** A device that the service knows, claimed or not. */
export type RegisteredDevice = Selectable<DeviceRegistryTable>

/** Must equal the expression of the index `device_registry_by_claim`, and claim-code.ts. */
const plainCode = sql<string>`upper(replace(claim_code, '-', ''))`

/**
 * The registry has no tenant: knowledge of the claim code authorizes. Rows are locked by id, as connecting devices lock
 * them, to prevent deadlocks.
 * @param codes As plainClaimCode() returns them.
 */
export function lockRegistryByCodes(tx: Tx, codes: readonly string[]): Promise<RegisteredDevice[]> {
  return tx
    .selectFrom('deviceRegistry')
    .selectAll()
    .where(plainCode, '=', anyOf(codes))
    .orderBy('id')
    .forUpdate()
    .execute()
}

/** Locks the registry rows of the organization's devices. */
export async function lockRegistry(
  tx: Tx,
  scope: OrgScope,
  { deviceIds, serials }: { readonly deviceIds: readonly string[]; readonly serials: readonly string[] },
): Promise<void> {
  await tx
    .selectFrom('deviceRegistry')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where((eb) => eb.or([eb('id', '=', anyOf(deviceIds)), eb('serial', '=', anyOf(serials))]))
    .orderBy('id')
    .forUpdate()
    .execute()
}

/** Makes the organization the owner of unclaimed devices. */
export async function updateOwner(tx: Tx, scope: InOrg, deviceIds: readonly string[]): Promise<void> {
  await tx
    .updateTable('deviceRegistry')
    .set({ orgId: scope.orgId })
    .where('id', '=', anyOf(deviceIds))
    .where('orgId', 'is', null)
    .execute()
}

/**
 * Ends the organization's ownership: anyone with the claim code may claim the devices next.
 * @returns The devices, whose rows stay locked until `tx` ends.
 */
export function clearOwner(
  tx: Tx,
  scope: OrgScope,
  deviceIds: readonly string[],
): Promise<Pick<RegisteredDevice, 'id' | 'codeOrigin'>[]> {
  return tx
    .updateTable('deviceRegistry')
    .set({ orgId: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(deviceIds))
    .returning(['id', 'codeOrigin'])
    .execute()
}

const codeColumns = columnsOf('deviceRegistry', { id: 'uuid', claimCode: 'text' })

/** Gives devices other claim codes. The caller has locked them. */
export async function updateClaimCodes(tx: Tx, devices: readonly RowOf<typeof codeColumns>[]): Promise<void> {
  await updateRows(tx, codeColumns, devices, { key: ['id'] })
}

/** Lists unclaimed devices, for the operator of the installation; ordered by MAC. */
export function listUnclaimed(reader: Reader, page: Page): Promise<Paged<RegisteredDevice>> {
  const hits = reader.selectFrom('deviceRegistry').selectAll().where('orgId', 'is', null)
  return pageOf<RegisteredDevice>(reader, { hits, sizes: smallRows }, page)
}

/** Returns an unclaimed device, for the operator of the installation. */
export function findUnclaimed(reader: Reader, mac: string): Promise<RegisteredDevice | undefined> {
  return reader
    .selectFrom('deviceRegistry')
    .selectAll()
    .where('mac', '=', mac)
    .where('orgId', 'is', null)
    .executeTakeFirst()
}

/** Locks the registry's rows of these devices and of their claim codes. */
export function lockRegistryOf(
  tx: Tx,
  devices: readonly ManifestItem[],
  codes: readonly string[],
): Promise<RegisteredDevice[]> {
  return tx
    .selectFrom('deviceRegistry')
    .selectAll()
    .where((eb) => eb.or([eb('id', '=', anyOf(devices.map(({ id }) => id))), eb(plainCode, '=', anyOf(codes))]))
    .orderBy('id')
    .forUpdate()
    .execute()
}

const manifestColumns = columnsOf('deviceRegistry', {
  id: 'uuid',
  mac: 'text',
  serial: 'text',
  model: 'text',
  type: 'text',
  claimCode: 'text',
  codeOrigin: 'text',
  createdAt: 'timestamptz',
})

/** Inserts devices, or updates those that exist. The caller has locked and compared them. */
export async function upsertManifest(tx: Tx, devices: readonly ManifestItem[], at: Date): Promise<void> {
  await insertRows(tx, manifestColumns, devices, {
    every: { codeOrigin: 'manifest' as const, createdAt: at },
    tail: sql`order by id
      on conflict (id) do update set serial = excluded.serial, model = excluded.model, type = excluded.type,
        claim_code = excluded.claim_code, code_origin = excluded.code_origin
      where device_registry.org_id is null`,
  })
}

/** Records that the codes of devices, claimed or not, are those of a manifest. The caller has locked and compared them. */
export async function updateCodeOrigin(tx: Tx, deviceIds: readonly string[]): Promise<void> {
  await tx
    .updateTable('deviceRegistry')
    .set({ codeOrigin: 'manifest' })
    .where('id', '=', anyOf(deviceIds))
    .where('codeOrigin', '<>', 'manifest')
    .execute()
}
