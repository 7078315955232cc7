import { sql } from 'kysely'
import type { Page, Paged } from '../http/lists.ts'
import { smallRows } from '../http/store-bounds.ts'
import { pageOf } from '../http/store-pages.ts'
import type { Reader, Tx } from '../platform/db.ts'
import { columnsOf, rowsAs } from '../platform/rows.ts'

export interface OrgStorage {
  readonly id: string
  readonly name: string
  readonly firmwareBytes: number
  readonly pictureBytes: number
}

/** Lists organizations that store anything, by the space they use. */
export function listOrgStorage(reader: Reader, page: Page): Promise<Paged<OrgStorage>> {
  const ofKind = (kind: string) =>
    sql<number>`coalesce(sum(storage_usage.bytes) filter (where kind = ${kind}), 0)::double precision`
  const hits = reader
    .selectFrom('storageUsage')
    .innerJoin('org', 'org.id', 'storageUsage.orgId')
    .select(['org.id', 'org.name', ofKind('firmware').as('firmwareBytes'), ofKind('pictures').as('pictureBytes')])
    .select(sql<number>`-sum(storage_usage.bytes)`.as('negativeBytes'))
    .groupBy(['org.id', 'org.name'])
  return pageOf<OrgStorage>(reader, { hits, order: ['negative_bytes', 'id'], sizes: smallRows }, page)
}

export interface TotalStorage {
  readonly firmwareBytes: number
  readonly pictureBytes: number
}

export function getTotalStorage(reader: Reader): Promise<TotalStorage> {
  const ofKind = (kind: string) => sql<number>`coalesce(sum(bytes) filter (where kind = ${kind}), 0)::double precision`
  return reader
    .selectFrom('storageUsage')
    .select([ofKind('firmware').as('firmwareBytes'), ofKind('pictures').as('pictureBytes')])
    .executeTakeFirstOrThrow()
}

/** Lists picture files whose rows were written before sizes were recorded. */
export async function listUnmeasuredImages(reader: Reader): Promise<string[]> {
  const { rows } = await sql<{ readonly name: string }>`
    select name from device_image where bytes = 0
    union all select name from mxedge_image where bytes = 0
    union all select image from site_map where image is not null and image_bytes = 0
    union all select thumbnail from site_map where thumbnail is not null and thumbnail_bytes = 0`.execute(reader)
  return rows.map(({ name }) => name)
}

export interface ImageSize {
  readonly name: string
  readonly bytes: number
}

const sizeColumns = columnsOf('deviceImage', { name: 'text', bytes: 'integer' })

export async function updateImageSizes(tx: Tx, sizes: readonly ImageSize[]): Promise<void> {
  const measured = rowsAs('measured', sizeColumns, sizes)
  await sql`update device_image i set bytes = measured.bytes from ${measured}
    where i.name = measured.name and i.bytes = 0`.execute(tx)
  await sql`update mxedge_image i set bytes = measured.bytes from ${measured}
    where i.name = measured.name and i.bytes = 0`.execute(tx)
  await sql`update site_map m set image_bytes = measured.bytes from ${measured}
    where m.image = measured.name and m.image_bytes = 0`.execute(tx)
  await sql`update site_map m set thumbnail_bytes = measured.bytes from ${measured}
    where m.thumbnail = measured.name and m.thumbnail_bytes = 0`.execute(tx)
}
