import { sql } from 'kysely'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import type { Reader } from '../../platform/database/db.ts'

export interface OrgStorage {
  readonly id: string
  readonly name: string
  readonly firmwareBytes: number
  readonly pictureBytes: number
  readonly supportBytes: number
}

/** Lists organizations that store anything, by the space they use. */
export function listOrgStorage(reader: Reader, page: Page): Promise<Paged<OrgStorage>> {
  const ofKind = (kind: string) =>
    sql<number>`coalesce(sum(storage_usage.bytes) filter (where kind = ${kind}), 0)::double precision`
  const hits = reader
    .selectFrom('storageUsage')
    .innerJoin('org', 'org.id', 'storageUsage.orgId')
    .select(['org.id', 'org.name', ofKind('firmware').as('firmwareBytes'), ofKind('pictures').as('pictureBytes')])
    .select(ofKind('support').as('supportBytes'))
    .select(sql<number>`-sum(storage_usage.bytes)`.as('negativeBytes'))
    .groupBy(['org.id', 'org.name'])
  return pageOf<OrgStorage>(reader, { hits, order: ['negative_bytes', 'id'], sizes: smallRows }, page)
}

export interface TotalStorage {
  readonly firmwareBytes: number
  readonly pictureBytes: number
  readonly supportBytes: number
}

export function getTotalStorage(reader: Reader): Promise<TotalStorage> {
  const ofKind = (kind: string) => sql<number>`coalesce(sum(bytes) filter (where kind = ${kind}), 0)::double precision`
  return reader
    .selectFrom('storageUsage')
    .select([ofKind('firmware').as('firmwareBytes'), ofKind('pictures').as('pictureBytes')])
    .select(ofKind('support').as('supportBytes'))
    .executeTakeFirstOrThrow()
}
