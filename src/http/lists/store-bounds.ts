import { type RawBuilder, sql } from 'kysely'
import type { Page } from './lists.ts'

/** The total size of the rows of one page, as the database returns them. A larger row is a page by itself. */
const PAGE_BYTES = 4 * 1024 * 1024
/** The size of a row besides its documents and long texts. */
const ROW_BYTES = 1024
/** Documents up to this size are not measured: as many as a page may have at most fit. Migration 23 has indexes for it. */
const SMALL_BYTES = 1024

/** The sizes of the rows of a list. Every list declares them; see {@link smallRows}. */
export interface Sizes {
  /** A query of one column `bytes`, for every row of the list (others do no harm) that is not small. */
  readonly query: RawBuilder<unknown>
  /** Up to how many bytes a row is small. Default {@link SMALL_BYTES}. */
  readonly smallBytes: number
}

/**
 * Declares that no row of a list exceeds four kilobytes, because all that clients and devices write into it is bounded:
 * as many as a page may have at most fit.
 */
export const smallRows = null

/**
 * Sizes of lists whose hits have a document; for pageOf(), which names them `hits`.
 * @param bytes An expression over `hit` for the size of its documents and long texts.
 */
export function sizesOf(bytes: RawBuilder<unknown>): Sizes {
  return largeOf(sql`hits as hit`, bytes)
}

/**
 * @param from The clause after `from`, up to a `where` that is extended.
 * @param bytes An expression over it; if an index exists for the large rows, the indexed expression.
 */
export function largeOf(
  from: RawBuilder<unknown>,
  bytes: RawBuilder<unknown>,
  {
    smallBytes = SMALL_BYTES,
    where = sql`true`,
  }: { readonly smallBytes?: number; readonly where?: RawBuilder<unknown> } = {},
): Sizes {
  // A literal, because PostgreSQL would otherwise not know that its partial index applies.
  return {
    query: sql`select ${bytes} as bytes from ${from} where ${where} and ${bytes} > ${sql.lit(smallBytes)}`,
    smallBytes,
  }
}

/**
 * A common table expression `fit` of one row: `rows`, the number of rows of a page, and `skip`, the number of rows
 * before it. Clients compute the next page by themselves, as the next number with the limit that they sent first or
 * with the one that we answered. No row is lost or repeated only if all pages of the list, for either limit, have the
 * same length: so the largest rows of the whole list decide, as if they were on one page, and the limit is halved until
 * they fit.
 */
export function fitOf({ limit, page }: Page, sizes: Sizes | null): RawBuilder<unknown> {
  if (sizes === null)
    return sql`fit as materialized (select ${limit}::bigint as rows, (${page} - 1)::bigint * ${limit} as skip)`
  const { query, smallBytes } = sizes
  return sql`large as materialized (
    select bytes from (${query}) as sized order by bytes desc limit ${limit}
  ), fit as materialized (
    select rows, (${page} - 1)::bigint * rows as skip from (
      select coalesce(max(wanted), 1)::bigint as rows from unnest(${halvings(limit)}::integer[]) as wanted
      where wanted::bigint * ${smallBytes + ROW_BYTES} + coalesce((
        select sum(bytes - ${smallBytes}) from (select bytes from large order by bytes desc limit wanted) as largest
      ), 0) <= ${PAGE_BYTES}
    ) as fitting
  )`
}

function halvings(limit: number): number[] {
  return limit <= 1 ? [limit] : [limit, ...halvings(Math.floor(limit / 2))]
}
