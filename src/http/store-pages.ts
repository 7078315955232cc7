import { type Expression, sql } from 'kysely'
import type { Page, Paged } from './lists.ts'
import type { Reader } from '../platform/db.ts'

/**
 * One page of `hits`, ordered by their `id`, and how many there are in all: one query, and a second
 * only past the last page, where no row carries the count.
 */
export async function pageOf<T extends object>(
  reader: Reader,
  hits: Expression<unknown>,
  page: Page,
): Promise<Paged<T>> {
  const { rows } = await sql<T & { readonly total: string }>`
    select hit.*, count(*) over () as total from (${hits}) as hit order by hit.id limit ${page.limit} offset ${page.offset}
  `.execute(reader)
  const [first] = rows
  if (first !== undefined || page.offset === 0) return { rows, total: Number(first?.total ?? 0) }
  const counted = await sql<{ readonly total: string }>`select count(*) as total from (${hits}) as hit`.execute(reader)
  return { rows: [], total: Number(counted.rows[0]?.total ?? 0) }
}
