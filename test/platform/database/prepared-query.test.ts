import { sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { endPool } from '../../../src/platform/database/connections/end-pool.ts'
import { openPool } from '../../../src/platform/database/connections/pools.ts'
import { type Tx, inTx, openDb } from '../../../src/platform/database/db.ts'
import { type TestContext, createTestContext } from '../../support/servers/server.ts'

let test: TestContext
beforeEach(async () => {
  test = await createTestContext()
  await sql`create table item (id integer primary key, at timestamptz, doc jsonb)`.execute(test.ctx.db)
})
afterEach(async () => {
  vi.restoreAllMocks()
  await test.close()
})

const at = new Date('2026-03-01T12:00:00.123Z')

const insert = (tx: Tx, id: number, doc: object | null = null) =>
  sql`insert into item values (${id}, ${doc === null ? null : at}, ${doc === null ? null : JSON.stringify(doc)})`.execute(
    tx,
  )

const find = async (tx: Tx, id: number) => (await sql`select * from item where id = ${id}`.execute(tx)).rows

it('reads the columns of a prepared statement once per connection', async () => {
  const describe = vi.spyOn(pg.Connection.prototype as unknown as { describe(): void }, 'describe')
  // A transaction has one connection.
  const found = await inTx(test.ctx, async (tx) => {
    await insert(tx, 1, { a: 1 })
    await insert(tx, 2)
    const rows = [await find(tx, 1), await find(tx, 2), await find(tx, 3), await find(tx, 1)]
    const { numAffectedRows } = await insert(tx, 3)
    return { rows, numAffectedRows, described: describe.mock.calls.length }
  })
  const first = { id: 1, at, doc: { a: 1 } }
  expect(found).toEqual({
    rows: [[first], [{ id: 2, at: null, doc: null }], [], [first]],
    numAffectedRows: 1n,
    described: 2,
  })
})

it('executes a statement again after its failure, and refuses it once its columns have changed', async () => {
  await inTx(test.ctx, async (tx) => {
    await insert(tx, 1, { a: 1 })
    await sql`savepoint before`.execute(tx)
    await expect(insert(tx, 1)).rejects.toThrow('duplicate key')
    await sql`rollback to before`.execute(tx)
    expect(await find(tx, 1)).toHaveLength(1)
    await sql`alter table item drop column doc`.execute(tx)
    await sql`savepoint changed`.execute(tx)
    await expect(find(tx, 1)).rejects.toThrow('cached plan must not change result type')
    await sql`rollback to changed`.execute(tx)
    expect((await sql`select id, at from item where id = ${1}`.execute(tx)).rows).toEqual([{ id: 1, at }])
  })
})

it('gives different names to the statements of two that share the connections', async () => {
  const pool = openPool({ ...test.database.connection, max: 1 }, () => {})
  const [one, other] = [openDb(pool, test.ctx.secrets), openDb(pool, test.ctx.secrets)]
  expect((await sql`select ${1}::integer as first`.execute(one)).rows).toEqual([{ first: 1 }])
  expect((await sql`select ${2}::integer as second`.execute(other)).rows).toEqual([{ second: 2 }])
  await endPool(pool)
})
