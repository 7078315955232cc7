import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Page, Paged } from './lists.ts'
import type { ValueCount } from './search.ts'
import type { Reader } from '../platform/db.ts'

/**
 * One page of `hits`, and how many there are in all: one query, and a second only past the last page,
 * where no row carries the count.
 * @param order What follows `order by`, over the columns of `hit`.
 */
export async function pageOf<T extends object>(
  reader: Reader,
  hits: Expression<unknown>,
  page: Page,
  order: RawBuilder<unknown> = sql`hit.id`,
): Promise<Paged<T>> {
  const { rows } = await sql<T & { readonly total: string }>`
    select hit.*, count(*) over () as total from (${hits}) as hit
    order by ${order} limit ${page.limit} offset ${page.offset}
  `.execute(reader)
  const [first] = rows
  if (first !== undefined || page.offset === 0) return { rows, total: Number(first?.total ?? 0) }
  const counted = await sql<{ readonly total: string }>`select count(*) as total from (${hits}) as hit`.execute(reader)
  return { rows: [], total: Number(counted.rows[0]?.total ?? 0) }
}

/**
 * How many of `hits` there are for each value of `field`, the most frequent first, and how many values
 * there are in all.
 * @param field An expression over the columns of `hits`.
 */
export async function countsOf(
  reader: Reader,
  hits: Expression<unknown>,
  { field, limit }: { readonly field: RawBuilder<unknown>; readonly limit: number },
): Promise<Paged<ValueCount>> {
  const { rows } = await sql<{ value: ValueCount['value']; count: string; total: string }>`
    select ${field} as value, count(*) as count, count(*) over () as total
    from (${hits}) as hit group by 1 order by 2 desc, 1 limit ${limit}
  `.execute(reader)
  return {
    rows: rows.map(({ value, count }) => ({ value, count: Number(count) })),
    total: Number(rows[0]?.total ?? 0),
  }
}
