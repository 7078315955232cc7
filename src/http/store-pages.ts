import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Page, Paged } from './lists.ts'
import type { Counts, ValueCount } from './search.ts'
import type { Reader } from '../platform/db.ts'
import { type Sizes, fitOf } from './store-bounds.ts'

export interface PageOptions {
  /** What follows `order by`, over the columns of `hit`; default its id. */
  readonly order?: RawBuilder<unknown>
  readonly sizes: Sizes | null
}

/**
 * One page of `hits`, and how many there are in all: one query, and a second only past the last page,
 * where no row carries the count.
 */
export async function pageOf<T extends object>(
  reader: Reader,
  hits: Expression<unknown>,
  page: Page,
  { order = sql`hit.id`, sizes }: PageOptions,
): Promise<Paged<T>> {
  const fit = fitOf(page, sizes)
  const { rows } = await sql<T & Whole>`
    with ${fit}
    select hit.*, (select rows from fit) as list_limit, count(*) over () as list_total from (${hits}) as hit
    order by ${order} limit (select rows from fit) offset (select skip from fit)
  `.execute(reader)
  const [first] = rows
  if (first !== undefined) return { rows, ...wholeOf(first) }
  const { rows: counted } = await sql<Whole>`
    with ${fit}
    select (select rows from fit) as list_limit, count(*) as list_total from (${hits}) as hit
  `.execute(reader)
  return { rows, ...wholeOf(counted[0]) }
}

/** What every row says of its list; bigints, which pg returns as text. */
export interface Whole {
  readonly listLimit: string
  readonly listTotal: string
}

export function wholeOf(row: Whole | undefined): Pick<Paged<unknown>, 'limit' | 'total'> {
  return { limit: Number(row?.listLimit ?? 0), total: Number(row?.listTotal ?? 0) }
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
): Promise<Counts> {
  const { rows } = await sql<{ value: ValueCount['value']; count: string; total: string }>`
    select ${field} as value, count(*) as count, count(*) over () as total
    from (${hits}) as hit group by 1 order by 2 desc, 1 limit ${limit}
  `.execute(reader)
  return {
    rows: rows.map(({ value, count }) => ({ value, count: Number(count) })),
    total: Number(rows[0]?.total ?? 0),
  }
}
