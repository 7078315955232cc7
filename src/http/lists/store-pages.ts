import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Page, Paged } from './lists.ts'
import type { Counts, ValueCount } from './search.ts'
import type { Reader } from '../../platform/database/db.ts'
import { plannedAnew } from '../../platform/database/connections/prepared.ts'
import { type Sizes, fitOf } from './store-bounds.ts'
import { type Group, MANY_ROWS, directionOf, walkGroups } from './store-groups.ts'

export interface List {
  /** A query for the rows of the list, or for their keys where `rows` makes the rows. */
  readonly hits: Expression<unknown>
  /** Columns of `hits` that order them, the last of them unique; default `id`. */
  readonly order?: readonly string[]
  /** Default ascending. */
  readonly direction?: 'asc' | 'desc'
  /** True if nulls come last in either direction; by default they come first in descending order. */
  readonly nullsLast?: boolean
  /** True if the first column of `order` is a text that is ordered by its bytes. */
  readonly byBytes?: boolean
  /**
   * The hits in groups, in their order, if each can be read in the order of an index; `rows` then gets `id` and `place` in
   * `page`, and supplies `place`.
   */
  readonly groups?: readonly Group[]
  /** True if `rows` expects `id` and `place` without `groups`. */
  readonly isPlaced?: boolean
  /** An expression for the number of `hits`, where a table has it: a list of many rows is not read for its length. */
  readonly total?: RawBuilder<unknown>
  /** How many hits are counted at most, of a list whose length would take too long to count. */
  readonly maxTotal?: number
  /**
   * How to read the filtered `hits`. By default in their order, up to the end of the page. `gathered`: all of them,
   * once, because their number is not known otherwise. `chosen`: by `total`, in the way that reads fewer rows.
   */
  readonly reading?: 'gathered' | 'chosen'
  /** For a `chosen` list: a query for `hits` that is fast for a few, however many PostgreSQL expects. */
  readonly gather?: RawBuilder<unknown>
  /** A query for further hits, with the columns of `hits`: few, because every page reads all of them. */
  readonly few?: RawBuilder<unknown>
  /** A query that makes rows of the hits in `page`, with the columns of `order`. */
  readonly rows?: RawBuilder<unknown>
  readonly sizes: Sizes | null
}

/**
 * Reads one page of a list and the number of its rows. It is one statement, hence one snapshot: page, total and all
 * that `rows` adds are consistent despite concurrent commits.
 */
export async function pageOf<T extends object>(reader: Reader, list: List, page: Page): Promise<Paged<T>> {
  const { rows: details = sql`select page.* from page` } = list
  const { rows: found } = await sql<T & Whole & { readonly listHit: boolean | null }>`
    ${list.reading === undefined || list.few !== undefined ? inOrder(list, page) : filtered(list, page, list.reading)}
    select item.*, item.list_hit, counted.total as list_total, counted.size as list_limit
    from counted left join (select made.*, true as list_hit from (${details}) as made) as item on true
    order by ${hasPlaces(list) ? sql`item.place` : orderBy('item', list)}
  `.execute(reader)
  const rows = found.filter(({ listHit }) => listHit === true)
  const total = Number(found[0]?.listTotal ?? 0)
  const limit = Number(found[0]?.listLimit ?? 0)
  const isWhole = rows.length >= Math.min(limit, total - (page.page - 1) * limit)
  // Only as many rows are examined as contain the page if hits are spread evenly. Otherwise all hits are sorted.
  if (!isWhole && list.reading === 'chosen' && list.groups !== undefined)
    return pageOf<T>(reader, sortedAsWhole(list, total), page)
  return { rows, total, limit }
}

function hasPlaces({ groups, isPlaced = false }: List): boolean {
  return isPlaced || groups !== undefined
}

/** The number of hits that are looked up one by one rather than in a join of whole tables. */
const FEW = 10_000

function sortedAsWhole({ total: _, gather, groups: __, ...list }: List, total: number): List {
  const hits = total <= FEW && gather !== undefined ? gather : list.hits
  return { ...list, hits, isPlaced: true, reading: 'gathered' }
}

/**
 * Makes `counted` and `page` by reading in the order of the list. Pages in the second half are read from the end, so
 * that the last page costs as much as the first.
 */
function inOrder(list: List, page: Page): RawBuilder<unknown> {
  const { hits, few, sizes, maxTotal = null } = list
  const counted = maxTotal === null ? sql`hits` : sql`(select from hits limit ${maxTotal}::bigint) as hit`
  const total = list.total ?? sql`select count(*) from ${counted}`
  // The end of a list that is longer than its total is not known.
  const isCapped = maxTotal === null ? sql`` : sql`or total >= ${maxTotal}::bigint`
  /** Supplies a page that ends after `last` hits. PostgreSQL does not see by itself that it needs no more. */
  const upTo = (order: RawBuilder<unknown>, last: RawBuilder<unknown>): RawBuilder<unknown> =>
    few === undefined
      ? sql`hits`
      : sql`((select * from hits as hit order by ${order} limit ${last}) union all select * from few)`
  const fromStart = sql`(select case when forward then skip + size else 0 end from counted)`
  const fromEnd = sql`(select case when forward then 0 else greatest(total - skip, 0) end from counted)`
  const walked =
    list.groups === undefined
      ? { ctes: sql``, rows: walk(list, (order, way) => upTo(order, way === 'forward' ? fromStart : fromEnd)) }
      : walksOf(list, page)
  // Without its `offset`, PostgreSQL would count twice.
  return sql`${list.groups === undefined ? sql`` : plannedAnew}
    with hits as not materialized (${hits}), ${few === undefined ? sql`` : sql`few as materialized (${few}),`}
    ${fitOf(page, sizes)}, counted as materialized (
      select total, fit.rows as size, skip, skip * 2 <= total ${isCapped} as forward
      from (
        select (${total})::bigint ${few === undefined ? sql`` : sql`+ (select count(*) from few)`} as total offset 0
      ) as known cross join fit
    ), ${walked.ctes} page as materialized (${walked.rows})`
}

/** Supplies the hits in an order, at least up to the end of the page. */
type Source = (order: RawBuilder<unknown>, way: 'forward' | 'backward') => RawBuilder<unknown>

/** Reads a page group by group; `ctes` precede `page` and end with a comma. */
function walksOf(list: List, page: Page): { ctes: RawBuilder<unknown>; rows: RawBuilder<unknown> } {
  const { groups = [], direction = 'asc', byBytes = false } = list
  const { ctes, rows } = walkGroups({ groups, direction, byBytes }, page)
  return { ctes: sql`${ctes},`, rows }
}

/** Reads a page in the order of the list, from its start or from its end; the other half is limited to nothing. */
function walk(list: List, source: Source): RawBuilder<unknown> {
  const backward = orderBy('hit', list, 'reversed')
  // PostgreSQL does not even start a scan with a limit of zero.
  return sql`${forwardOf(list, source)} union all
    (select * from ${source(backward, 'backward')} as hit order by ${backward}
      limit (select case when not forward then least(size, greatest(total - skip, 0)) else 0 end from counted)
      offset (select greatest(total - skip - size, 0) from counted))`
}

/** Reads a page from the start of the list. The first page never needs more. */
function forwardOf(list: List, source: Source): RawBuilder<unknown> {
  const forward = orderBy('hit', list)
  return sql`(select * from ${source(forward, 'forward')} as hit order by ${forward}
      limit (select case when forward then size else 0 end from counted) offset (select skip from counted))`
}

/**
 * Makes `counted` and `page` of hits that filters leave. A few hits are gathered and sorted: in the order of the list,
 * all other rows would be read to find them. Many are read in that order until the page is full. PostgreSQL can't
 * choose by itself: it plans before it has counted.
 */
function filtered(list: List, page: Page, reading: 'gathered' | 'chosen'): RawBuilder<unknown> {
  const { hits, total = sql`select count(*) from gathered`, sizes } = list
  if (reading === 'gathered')
    return sql`${plannedAnew} with hits as not materialized (${hits}), gathered as materialized (select * from hits),
      ${fitOf(page, sizes)}, counted as materialized (select (${total}) as total, rows as size, skip from fit),
      page as materialized (${hasPlaces(list) ? placed(list, 'gathered') : pageIn(list, 'gathered')})`
  const { ctes, page: rows } = list.groups === undefined ? chosenInOrder(list, page) : chosenInGroups(list, page)
  return sql`${plannedAnew} with hits as not materialized (${hits}), ${fitOf(page, sizes)},
    known as materialized (
      select total, rows as size, skip,
        total * total <= least(skip + rows, greatest(total - skip, 0)) * ${MANY_ROWS}::bigint as gathers
      from (select (${total})::bigint as total offset 0) as length cross join fit
    ), gathered as materialized (
      select * from (${list.gather ?? hits}) as hit where (select gathers from known)
    ), counted as materialized (
      select total, size, skip, case when not gathers then skip * 2 <= total end as forward from known
    ), ${ctes} page as materialized (${rows})`
}

interface Reading {
  /** Common table expressions before `page`, which end with a comma. */
  readonly ctes: RawBuilder<unknown>
  readonly page: RawBuilder<unknown>
}

function pageIn(list: List, table: string): RawBuilder<unknown> {
  return sql`select * from ${sql.ref(table)} as hit order by ${orderBy('hit', list)}
    limit (select size from counted) offset (select skip from counted)`
}

function placed(list: List, table: string): RawBuilder<unknown> {
  return sql`select id, row_number() over (order by ${orderBy('hit', list)}) as place from (${pageIn(list, table)}) as hit`
}

function chosenInOrder(list: List, page: Page): Reading {
  // The end of the page is known beforehand, so that PostgreSQL plans for a few rows.
  const last = page.limit * page.page
  const source: Source = (order, way) =>
    way === 'backward' ? sql`hits` : sql`(select * from hits as hit order by ${order} limit ${last})`
  const walked = page.page === 1 ? forwardOf(list, source) : walk(list, source)
  return { ctes: sql``, page: sql`(${pageIn(list, 'gathered')}) union all ${walked}` }
}

function chosenInGroups(list: List, page: Page): Reading {
  const { ctes, rows } = walksOf(list, page)
  return {
    ctes,
    page: sql`${placed(list, 'gathered')} union all ${rows}`,
  }
}

/** The values about the list in every row; bigints, which pg returns as text. */
interface Whole {
  readonly listLimit: string
  readonly listTotal: string
}

function orderBy(table: string, list: List, reversed?: 'reversed'): RawBuilder<unknown> {
  const { order = ['id'], direction = 'asc', nullsLast = false, byBytes = false } = list
  const ascends = (direction === 'asc') === (reversed === undefined)
  const nulls = !nullsLast ? sql`` : reversed === undefined ? sql`nulls last` : sql`nulls first`
  return sql.join(
    order.map((column, place) => {
      const way = directionOf({ ascends, byBytes: byBytes && place === 0 })
      return sql`${sql.ref(`${table}.${column}`)} ${way} ${nulls}`
    }),
  )
}

/**
 * Counts `hits` for each value of `field`, the most frequent first: a page of values, and the number of them all.
 * @param field An expression over the columns of `hits`.
 */
export async function countsOf(
  reader: Reader,
  hits: Expression<unknown>,
  {
    field,
    /** The number of rows that each hit represents, if a table has them counted. */
    weight,
    limit,
    page,
  }: Page & { readonly field: RawBuilder<unknown>; readonly weight?: RawBuilder<unknown> },
): Promise<Counts> {
  const count = weight === undefined ? sql`count(*)` : sql`sum(${weight})`
  const { rows } = await sql<{ value: ValueCount['value']; count: string | null; total: string }>`
    with counted as materialized (
      select ${field} as value, ${count} as count from (${hits}) as hit group by 1 having ${count} > 0
    )
    select page.value, page.count, whole.total from (select count(*) as total from counted) as whole
      left join (select * from counted order by count desc, value limit ${limit} offset ${limit * (page - 1)}) as page on true
    order by page.count desc, page.value
  `.execute(reader)
  return {
    // A page behind the last value is one row without a count.
    rows: rows.flatMap(({ value, count: times }) => (times === null ? [] : [{ value, count: Number(times) }])),
    total: Number(rows[0]?.total ?? 0),
  }
}
