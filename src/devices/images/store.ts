import { type Reader, anyOf } from '../../platform/db.ts'

/** Of `names`, those of pictures of any organization's devices: files have no tenant. */
export async function filterKnownDeviceImages(reader: Reader, names: readonly string[]): Promise<string[]> {
  const rows = await reader.selectFrom('deviceImage').select('name').where('name', '=', anyOf(names)).execute()
  return rows.map(({ name }) => name)
}
