import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'

/** Returns those of `names` that are pictures of any organization's devices: files have no tenant. */
export async function filterKnownDeviceImages(reader: Reader, names: readonly string[]): Promise<string[]> {
  const rows = await reader.selectFrom('deviceImage').select('name').where('name', '=', anyOf(names)).execute()
  return rows.map(({ name }) => name)
}

export interface NewDeviceImage {
  readonly deviceId: string
  readonly number: number
  readonly name: string
  readonly bytes: number
  readonly width: number
  readonly height: number
  readonly at: Date
}

/** Returns the size of the picture's file; 0 if there is none, or if it has not been measured. */
export async function getDeviceImageBytes(
  reader: Reader,
  scope: InOrg,
  { deviceId, number }: { readonly deviceId: string; readonly number: number },
): Promise<number> {
  const row = await reader
    .selectFrom('deviceImage')
    .select('bytes')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', deviceId)
    .where('number', '=', number)
    .executeTakeFirst()
  return row?.bytes ?? 0
}

/** Replaces the picture of that number. @returns The file name of the replaced picture; null if there was none. */
export async function upsertDeviceImageRow(tx: Tx, scope: InOrg, image: NewDeviceImage): Promise<string | null> {
  const { deviceId, number, at, ...picture } = image
  const replaced = await deleteDeviceImageRow(tx, scope, { deviceId, number })
  await tx
    .insertInto('deviceImage')
    .values({ orgId: scope.orgId, deviceId, number, ...picture, createdAt: at })
    .execute()
  return replaced
}

/** @returns The name of the picture's file; null if there is none. The caller has locked the device. */
export async function deleteDeviceImageRow(
  tx: Tx,
  scope: InOrg,
  { deviceId, number }: { readonly deviceId: string; readonly number: number },
): Promise<string | null> {
  const row = await tx
    .deleteFrom('deviceImage')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', deviceId)
    .where('number', '=', number)
    .returning('name')
    .executeTakeFirst()
  return row?.name ?? null
}

/**
 * Moves pictures of one device to another, where they replace those of the same numbers. The caller has locked both
 * devices.
 */
export async function moveDeviceImages(
  tx: Tx,
  scope: InOrg,
  { from, to, numbers }: { readonly from: string; readonly to: string; readonly numbers: readonly number[] },
): Promise<void> {
  const rows = await tx
    .selectFrom('deviceImage')
    .select('number')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', from)
    .where('number', '=', anyOf(numbers))
    .execute()
  const moving = rows.map(({ number }) => number)
  await tx
    .deleteFrom('deviceImage')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', to)
    .where('number', '=', anyOf(moving))
    .execute()
  await tx
    .updateTable('deviceImage')
    .set({ deviceId: to })
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', from)
    .where('number', '=', anyOf(moving))
    .execute()
}
