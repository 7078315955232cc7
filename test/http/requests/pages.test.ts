import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { type KyselyPlugin, sql } from 'kysely'
import type pg from 'pg'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemScope } from '../../../src/access/scope.ts'
import { listAdmins } from '../../../src/accounts/admins/store-admins.ts'
import { type List, pageOf } from '../../../src/http/lists/store-pages.ts'
import { type Db, openDb } from '../../../src/platform/database/db.ts'
import { endPool } from '../../../src/platform/database/connections/end-pool.ts'
import { openPool } from '../../../src/platform/database/connections/pools.ts'
import { documentText } from '../../../src/platform/sealing/document-column.ts'
import { createSecrets } from '../../../src/platform/secrets.ts'
import { type TestDatabase, createTestDatabase } from '../../support/database/database.ts'

let database: TestDatabase
let pool: pg.Pool
let db: Db
beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool({ ...database.connection, max: 2 }, () => {})
  db = openDb(pool, createSecrets(randomBytes(32)))
})
afterAll(async () => {
  await endPool(pool)
  await database.drop()
})

interface Row {
  readonly id: number
  readonly sorted: string | null
}

/** A list of these rows. The second query returns `few`; null means that there is no second query. */
function listOf(rows: readonly Row[], few: readonly Row[] | null, direction: 'asc' | 'desc'): List {
  const queryOf = (some: readonly Row[]) =>
    sql`select id, sorted from jsonb_to_recordset(${JSON.stringify(some)}::jsonb) as row (id integer, sorted text)`
  return {
    hits: queryOf(rows),
    ...(few !== null && { few: queryOf(few) }),
    order: ['sorted', 'id'],
    direction,
    sizes: null,
  }
}

/** Sorts like PostgreSQL: unset values follow all others. */
function inOrder(rows: readonly Row[], direction: 'asc' | 'desc'): Row[] {
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

describe('pageOf', () => {
  it('returns the same rows as a plain list on that page, from whichever end it reads', async () => {
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
          const found = await pageOf<Row>(db, listOf(own, few, direction), { limit, page })
          expect(found.rows.map(({ id, sorted }) => ({ id, sorted }))).toEqual(
            inOrder(all, direction).slice(offset, offset + limit),
          )
          expect(found.total).toBe(all.length)
        },
      ),
      { numRuns: 400 },
    )
  })

  it('returns the length of a list on a page far behind its end', async () => {
    const list = listOf([{ id: 1, sorted: 'a' }], [{ id: 2, sorted: null }], 'asc')
    const page = { limit: 1000, page: 1_000_000 }
    expect(await pageOf(db, list, page)).toEqual({ rows: [], total: 2, limit: 1000 })
  })
})

/** Returns the database as a request sees it while another one commits a change after each of its statements. */
function whileOthersCommit(change: () => Promise<unknown>): Db {
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      await change()
      return result
    },
  }
  return db.withPlugin(plugin)
}

describe('a page and its total', () => {
  it('show the same moment behind the end of a growing list', async () => {
    await sql`create table grown (id serial primary key)`.execute(db)
    const grow = () => sql`insert into grown default values`.execute(db)
    await grow()
    const list: List = { hits: sql`select id from grown`, sizes: null }
    const found = await pageOf<{ id: number }>(whileOthersCommit(grow), list, { limit: 1, page: 2 })
    expect(found).toMatchObject({ rows: [], total: 1 })
  })

  it('show the same moment as the privileges of its admins', async () => {
    const [orgId, adminId] = [uuidv7(), uuidv7()]
    const at = new Date()
    await db
      .insertInto('org')
      .values({ id: orgId, name: 'Org', doc: documentText({}), createdAt: at, modifiedAt: at })
      .execute()
    const names = { email: 'ada@example.com', firstName: 'Ada', lastName: 'Byron' }
    await db
      .insertInto('admin')
      .values({ id: adminId, ...names, createdAt: at })
      .execute()
    const privilege = { scope: 'org', role: 'admin' } as const
    await db
      .insertInto('privilege')
      .values({ orgId, adminId, id: uuidv7(), ...privilege })
      .execute()
    const removed = () => db.deleteFrom('privilege').where('adminId', '=', adminId).execute()
    const found = await listAdmins(whileOthersCommit(removed), systemScope('operator', orgId), { limit: 10, page: 1 })
    expect(found.total).toBe(1)
    expect(found.rows.map(({ privileges }) => privileges)).toEqual([[privilege]])
  })
})
