import fc from 'fast-check'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LongList, longPageOf } from '../../src/http/store-long-lists.ts'
import { type Db, openDb } from '../../src/platform/db.ts'
import { type TestDatabase, createTestDatabase } from '../support/database.ts'

let database: TestDatabase
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  db = openDb(new pg.Pool({ ...database.connection, max: 1 }))
})
afterAll(async () => {
  await db.destroy()
  await database.drop()
})

interface Row {
  readonly id: number
  readonly sorted: string | null
}

/** A list of these rows, of which `few` come by the second query; `few` null: there is none. */
function listOf(rows: readonly Row[], few: readonly Row[] | null, direction: LongList['direction']): LongList {
  const queryOf = (some: readonly Row[]) =>
    sql`select id, sorted from jsonb_to_recordset(${JSON.stringify(some)}::jsonb) as row (id integer, sorted text)`
  return {
    keys: queryOf(rows),
    total: sql`${rows.length}::bigint`,
    ...(few !== null && { few: queryOf(few) }),
    order: ['sorted', 'id'],
    direction,
    rows: sql`select page.* from page`,
    sizes: null,
  }
}

/** As PostgreSQL orders: what is not set comes after everything else. */
function inOrder(rows: readonly Row[], direction: LongList['direction']): Row[] {
  const rank = ({ id, sorted }: Row): [number, string, number] => [sorted === null ? 1 : 0, sorted ?? '', id]
  const ascending = [...rows].sort((one, other) => {
    const [a, b] = [rank(one), rank(other)]
    return a[0] - b[0] || (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0) || a[2] - b[2]
  })
  return direction === 'asc' ? ascending : ascending.reverse()
}

const rows = fc.uniqueArray(
  fc.record({ id: fc.integer({ min: 0, max: 60 }), sorted: fc.constantFrom('a', 'b', 'c', null) }),
  { selector: ({ id }) => id, maxLength: 25 },
)
const directions = fc.constantFrom('asc' as const, 'desc' as const)

describe('longPageOf', () => {
  it('answers what a plain list has on that page, whichever end it is read from', async () => {
    const pages = fc.record({ limit: fc.integer({ min: 1, max: 12 }), page: fc.integer({ min: 1, max: 8 }) })
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.option(fc.nat(25)),
        directions,
        pages,
        async (all, split, direction, { limit, page }) => {
          const [own, few] = split === null ? [all, null] : [all.slice(split), all.slice(0, split)]
          const offset = (page - 1) * limit
          const found = await longPageOf<Row>(db, listOf(own, few, direction), { limit, page })
          expect(found.rows.map(({ id, sorted }) => ({ id, sorted }))).toEqual(
            inOrder(all, direction).slice(offset, offset + limit),
          )
          expect(found.total).toBe(all.length)
        },
      ),
      { numRuns: 400 },
    )
  })

  it('knows the length of a list on a page far behind its end', async () => {
    const list = listOf([{ id: 1, sorted: 'a' }], [{ id: 2, sorted: null }], 'asc')
    const page = { limit: 1000, page: 1_000_000 }
    expect(await longPageOf(db, list, page)).toEqual({ rows: [], total: 2, limit: 1000 })
  })
})
