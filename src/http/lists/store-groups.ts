import { type RawBuilder, sql } from 'kysely'
import type { Page } from './lists.ts'

/** Hits that stand together in a list, as a query with the columns `id` and, if they have different values, `sorted`. */
export interface Group {
  readonly hits: RawBuilder<unknown>
  readonly isSorted: boolean
  /**
   * Set if filters leave some of the rows that an index has in this order: the query then reads only the number of rows that
   * fills the page if hits are spread evenly. Null: the hits are read in order until the page is full.
   */
  readonly among: {
    /** A query for these rows, with the columns of `hits`. */
    readonly candidates: RawBuilder<unknown>
    /** The clause after `from ... as candidate` that selects the hits. */
    readonly matching: RawBuilder<unknown>
  } | null
}

/**
 * A list whose hits are read group by group: PostgreSQL can read each group in the order of an index, but not all
 * together.
 */
export interface Grouped {
  /** One or two, in the order of the list. */
  readonly groups: readonly Group[]
  readonly direction: 'asc' | 'desc'
  /** True if `sorted` is a text that is ordered by its bytes, as the indexes of prefixes are. */
  readonly byBytes: boolean
}

/** The number of rows for which lists are fast. To find one hit in their order, as many rows per hit are read. */
export const MANY_ROWS = 100_000
/** The ratio of examined to expected rows for a page. */
const MARGIN = 5

type Way = 'forward' | 'backward'

/**
 * Reads a page of a grouped list, from its start or from its end. It needs `counted`, with `size` and `skip` of the
 * page, `total`, and `forward`, which is null if neither direction is needed.
 * @returns Common table expressions, and a query on them for `id` and `place`, by which the page is ordered.
 */
export function walkGroups(list: Grouped, page: Page): { ctes: RawBuilder<unknown>; rows: RawBuilder<unknown> } {
  // The first page never needs to be read from the end.
  const ways: Way[] = page.page === 1 ? ['forward'] : ['forward', 'backward']
  const walks = ways.map((way) => walkOf(list, page, way))
  return {
    ctes: sql.join(walks.map(({ ctes }) => ctes)),
    rows: sql.join(
      walks.map(({ rows }) => rows),
      sql` union all `,
    ),
  }
}

function walkOf(list: Grouped, page: Page, way: Way): { ctes: RawBuilder<unknown>; rows: RawBuilder<unknown> } {
  const [head, tail] = way === 'forward' ? list.groups : list.groups.toReversed()
  if (head === undefined) throw new Error('A list has no group')
  const names = { range: `${way}_range`, head: `${way}_head`, rest: `${way}_rest`, tail: `${way}_tail` }
  const range =
    way === 'forward'
      ? sql`case when forward then size else 0 end as wanted, skip as passed`
      : sql`case when not forward then least(size, greatest(total - skip, 0)) else 0 end as wanted,
          greatest(total - skip - size, 0) as passed`
  const first = sql`${sql.ref(names.range)} as materialized (select ${range} from counted),
    ${sql.ref(names.head)} as materialized (${portion(list, { group: head, way, page, of: names.range, after: 0 })})`
  const rows = sql`select id, place from ${sql.ref(names.head)}`
  if (tail === undefined) return { ctes: first, rows }
  // The first group is counted only for pages behind it.
  return {
    ctes: sql`${first}, ${sql.ref(names.rest)} as materialized (
      select wanted - found as wanted,
        case when found > 0 then 0 else greatest(passed - (select count(*) from (${head.hits}) as hit), 0) end as passed
      from ${sql.ref(names.range)}, (select count(*) as found from ${sql.ref(names.head)}) as counted_head
      where found < wanted and ${isExhausted(head, sql.ref(names.range))}
    ), ${sql.ref(names.tail)} as materialized (${portion(list, { group: tail, way, page, of: names.rest, after: page.limit })})`,
    rows: sql`${rows} union all select id, place from ${sql.ref(names.tail)}`,
  }
}

interface Portion {
  readonly group: Group
  readonly way: Way
  readonly page: Page
  /**
   * Supplies `wanted`, the number of hits to read, and `passed`, the number of hits before them; no row if none is
   * needed.
   */
  readonly of: string
  /** The last place before this portion, in its way. */
  readonly after: number
}

function portion(list: Grouped, { group, way, page, of, after }: Portion): RawBuilder<unknown> {
  const order = orderOf(list, group, way)
  const range = sql.ref(of)
  // PostgreSQL does not even start a scan with a limit of zero.
  return sql`select id, ${way === 'forward' ? sql`` : sql`-`} (${after}::bigint + row_number() over (order by ${order})) as place
    from (select * from ${sourceOf(group, { order, way, page, range })} as hit order by ${order}
      limit coalesce((select wanted from ${range}), 0) offset coalesce((select passed from ${range}), 0)) as hit`
}

interface Source {
  readonly order: RawBuilder<unknown>
  readonly way: Way
  readonly page: Page
  readonly range: RawBuilder<unknown>
}

function sourceOf({ hits, isSorted, among }: Group, { order, way, page, range }: Source): RawBuilder<unknown> {
  // The end of the page is known beforehand, so that PostgreSQL plans for a few rows.
  const last = page.limit * page.page
  if (among === null)
    return way === 'backward' ? sql`(${hits})` : sql`(select * from (${hits}) as hit order by ${order} limit ${last})`
  const { candidates, matching } = among
  const known = way === 'backward' ? sql`` : sql`limit ${Math.ceil(MARGIN * Math.sqrt(MANY_ROWS * last))}::bigint`
  const sorted = isSorted ? sql`, candidate.sorted` : sql``
  return sql`(select candidate.id ${sorted} from (
      select * from (select * from (${candidates}) as hit order by ${order} ${known}) as hit order by ${order}
      limit coalesce(${enoughFor(range)}, 0)
    ) as candidate ${matching})`
}

/** The number of candidates to examine. */
function enoughFor(range: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select ceil(${MARGIN} * (passed + wanted) * ${MANY_ROWS} / greatest(total, 1))::bigint from ${range}, counted)`
}

/** True if all hits of a group have been read, because it has no more candidates. */
function isExhausted({ among }: Group, range: RawBuilder<unknown>): RawBuilder<unknown> {
  if (among === null) return sql`true`
  const enough = enoughFor(range)
  return sql`(select count(*) from (select from (${among.candidates}) as candidate limit ${enough}) as looked_at) < ${enough}`
}

function orderOf({ direction, byBytes }: Grouped, { isSorted }: Group, way: Way): RawBuilder<unknown> {
  const ascends = (direction === 'asc') === (way === 'forward')
  const id = ascends ? sql`hit.id` : sql`hit.id desc`
  if (!isSorted) return id
  return sql`hit.sorted ${directionOf({ ascends, byBytes })}, ${id}`
}

/** The suffix of a column in `order by`. */
export function directionOf(order: { readonly ascends: boolean; readonly byBytes: boolean }): RawBuilder<unknown> {
  if (!order.byBytes) return order.ascends ? sql`asc` : sql`desc`
  return order.ascends ? sql`using ~<~` : sql`using ~>~`
}
