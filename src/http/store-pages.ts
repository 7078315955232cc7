import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Page, Paged } from './lists.ts'
import type { Counts, ValueCount } from './search.ts'
import type { Reader } from '../platform/db.ts'
import { type Sizes, fitOf } from './store-bounds.ts'

export interface List {
  /** A query for the rows of the list, or for their keys where `rows` makes the rows. */
  readonly hits: Expression<unknown>
  /** Columns of `hits` that order them, the last of them unique; default `id`. */
  readonly order?: readonly string[]
  /** Default ascending. */
  readonly direction?: 'asc' | 'desc'
  /** Whether nulls follow everything else in either direction; by default they come first in descending order. */
  readonly nullsLast?: boolean
  /** An expression for the number of `hits`, where a table has it: a list of many rows is not read for its length. */
  readonly total?: RawBuilder<unknown>
  /** A query for further hits, with the columns of `hits`: few, because every page reads all of them. */
  readonly few?: RawBuilder<unknown>
  /** A query that makes rows of the hits in `page`, with the columns of `order`. */
  readonly rows?: RawBuilder<unknown>
  readonly sizes: Sizes | null
}

/**
 * Reads one page of a list and the number of its rows. One statement, hence one snapshot: whatever commits meanwhile,
 * page, total and all that `rows` adds are of the same moment. Pages behind the middle are read from the end, so that
 * the last costs what the first does.
 */
export async function pageOf<T extends object>(reader: Reader, list: List, page: Page): Promise<Paged<T>> {
  const { hits, few, rows = sql`select page.* from page`, sizes } = list
  const total = list.total ?? sql`select count(*) from hits`
  const forward = orderBy('hit', list)
  const backward = orderBy('hit', list, 'reversed')
  /** Supplies a page that ends after `last` hits. PostgreSQL does not see by itself that it needs no more. */
  const upTo = (order: RawBuilder<unknown>, last: RawBuilder<unknown>): RawBuilder<unknown> =>
    few === undefined
      ? sql`hits`
      : sql`((select * from hits as hit order by ${order} limit ${last}) union all select * from few)`
  const fromStart = sql`(select case when forward then skip + size else 0 end from counted)`
  const fromEnd = sql`(select case when forward then 0 else greatest(total - skip, 0) end from counted)`
  // PostgreSQL does not even begin to read what is limited to nothing. Without its `offset` it would count twice.
  const { rows: found } = await sql<T & Whole & { readonly listHit: boolean | null }>`
    with hits as not materialized (${hits}), ${few === undefined ? sql`` : sql`few as materialized (${few}),`}
    ${fitOf(page, sizes)}, counted as materialized (
      select total, fit.rows as size, skip, skip * 2 <= total as forward
      from (
        select (${total})::bigint ${few === undefined ? sql`` : sql`+ (select count(*) from few)`} as total offset 0
      ) as known cross join fit
    ), page as materialized (
      (select * from ${upTo(forward, fromStart)} as hit order by ${forward}
        limit (select case when forward then size else 0 end from counted) offset (select skip from counted))
      union all
      (select * from ${upTo(backward, fromEnd)} as hit order by ${backward}
        limit (select case when forward then 0 else least(size, greatest(total - skip, 0)) end from counted)
        offset (select greatest(total - skip - size, 0) from counted))
    )
    select item.*, item.list_hit, counted.total as list_total, counted.size as list_limit
    from counted left join (select made.*, true as list_hit from (${rows}) as made) as item on true
    order by ${orderBy('item', list)}
  `.execute(reader)
  return {
    rows: found.filter(({ listHit }) => listHit === true),
    total: Number(found[0]?.listTotal ?? 0),
    limit: Number(found[0]?.listLimit ?? 0),
  }
}

/** What every row says of its list; bigints, which pg returns as text. */
interface Whole {
  readonly listLimit: string
  readonly listTotal: string
}

function orderBy(
  table: string,
  { order = ['id'], direction = 'asc', nullsLast = false }: List,
  reversed?: 'reversed',
): RawBuilder<unknown> {
  const way = (direction === 'asc') === (reversed === undefined) ? sql`asc` : sql`desc`
  const nulls = !nullsLast ? sql`` : reversed === undefined ? sql`nulls last` : sql`nulls first`
  return sql.join(order.map((column) => sql`${sql.ref(`${table}.${column}`)} ${way} ${nulls}`))
}

/**
 * Counts `hits` for each value of `field`, the most frequent first, and the values in all.
 * @param field An expression over the columns of `hits`.
 */
export async function countsOf(
  reader: Reader,
  hits: Expression<unknown>,
  {
    field,
    limit,
    /** How many rows each hit stands for, where a table has them counted. */
    weight,
  }: { readonly field: RawBuilder<unknown>; readonly limit: number; readonly weight?: RawBuilder<unknown> },
): Promise<Counts> {
  const count = weight === undefined ? sql`count(*)` : sql`sum(${weight})`
  const { rows } = await sql<{ value: ValueCount['value']; count: string; total: string }>`
    select ${field} as value, ${count} as count, count(*) over () as total
    from (${hits}) as hit group by 1 having ${count} > 0 order by 2 desc, 1 limit ${limit}
  `.execute(reader)
  return {
    rows: rows.map(({ value, count: times }) => ({ value, count: Number(times) })),
    total: Number(rows[0]?.total ?? 0),
  }
}
