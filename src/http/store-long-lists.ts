import { type RawBuilder, sql } from 'kysely'
import type { Reader } from '../platform/db.ts'
import type { Page, Paged } from './lists.ts'
import { type Sizes, fitOf } from './store-bounds.ts'
import { type Whole, wholeOf } from './store-pages.ts'

export interface LongList {
  /** A query for the keys of the hits, which an index holds in the order asked for. */
  readonly keys: RawBuilder<unknown>
  /** An expression for how many of `keys` there are in all, which does not read them. */
  readonly total: RawBuilder<unknown>
  /** A query for further keys, with the columns of `keys`: few, because all of them are read for every page. */
  readonly few?: RawBuilder<unknown>
  /** Columns of `keys` that order them, the last of them unique. */
  readonly order: readonly string[]
  readonly direction: 'asc' | 'desc'
  /** A query that makes rows, with the columns of `order`, of those of the keys that are in `page`. */
  readonly rows: RawBuilder<unknown>
  readonly sizes: Sizes | null
}

/**
 * One page of a list that is too long to be read for its length: one query. Pages behind the middle are
 * read from the end, so that the last costs what the first does.
 */
export async function longPageOf<T extends object>(
  reader: Reader,
  { keys, total, few, order, direction, rows, sizes }: LongList,
  page: Page,
): Promise<Paged<T>> {
  const forward = orderBy('hit', order, direction)
  const backward = orderBy('hit', order, direction === 'asc' ? 'desc' : 'asc')
  /** What a page that ends after `last` keys is taken from. PostgreSQL does not see by itself that it needs no more. */
  const hits = (way: RawBuilder<unknown>, last: RawBuilder<unknown>): RawBuilder<unknown> =>
    few === undefined
      ? keys
      : sql`(select * from (${keys}) as hit order by ${way} limit ${last}) union all select * from few`
  const fromStart = sql`(select case when forward then skip + size else 0 end from counted)`
  const fromEnd = sql`(select case when forward then 0 else greatest(total - skip, 0) end from counted)`
  // PostgreSQL does not even begin to read what is limited to nothing. Without its `offset` it would count twice.
  const { rows: found } = await sql<T & Whole & { readonly listHit: boolean | null }>`
    with ${few === undefined ? sql`` : sql`few as materialized (${few}),`} ${fitOf(page, sizes)},
    counted as materialized (
      select total, fit.rows as size, skip, skip * 2 <= total as forward
      from (
        select (${total})::bigint ${few === undefined ? sql`` : sql`+ (select count(*) from few)`} as total offset 0
      ) as known cross join fit
    ), page as materialized (
      (select * from (${hits(forward, fromStart)}) as hit order by ${forward}
        limit (select case when forward then size else 0 end from counted) offset (select skip from counted))
      union all
      (select * from (${hits(backward, fromEnd)}) as hit order by ${backward}
        limit (select case when forward then 0 else least(size, greatest(total - skip, 0)) end from counted)
        offset (select greatest(total - skip - size, 0) from counted))
    )
    select item.*, item.list_hit, counted.total as list_total, counted.size as list_limit
    from counted left join (select made.*, true as list_hit from (${rows}) as made) as item on true
    order by ${orderBy('item', order, direction)}
  `.execute(reader)
  return { rows: found.filter(({ listHit }) => listHit === true), ...wholeOf(found[0]) }
}

function orderBy(table: string, columns: readonly string[], direction: 'asc' | 'desc'): RawBuilder<unknown> {
  const way = direction === 'asc' ? sql`asc` : sql`desc`
  return sql.join(columns.map((column) => sql`${sql.ref(`${table}.${column}`)} ${way}`))
}
