import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Tx, inTx } from '../../../src/platform/database/db.ts'
import { executeAtCommit, lastStatement } from '../../../src/platform/database/last-statement.ts'
import { compileValues } from '../../../src/platform/database/statement.ts'
import { type TestContext, createTestContext } from '../../support/servers/server.ts'

let test: TestContext
let reported: unknown[][]
beforeEach(async () => {
  test = await createTestContext()
  reported = []
  await sql`create table item (value integer primary key, written_in xid8 not null default pg_current_xact_id())`.execute(
    test.ctx.db,
  )
  await sql`create table other (value integer, foreign key (value) references item deferrable initially deferred)`.execute(
    test.ctx.db,
  )
})
afterEach(() => test.close())

const insertItem = lastStatement<number, { readonly values: readonly number[] }, { value: number }>({
  compile: compileValues(
    (param) => sql`insert into item (value) select * from unnest(${param('values')}::integer[]) returning value`,
  ),
  valuesOf: (values) => ({ values }),
  maxItems: 3,
  onRows: (_tx, rows) => reported.push(rows.map(({ value }) => value)),
})

const insertOther = (tx: Tx, value: number) => sql`insert into other values (${value})`.execute(tx)

async function stored(): Promise<{ values: number[]; transactions: number }> {
  const { rows } = await sql<{ value: number; writtenIn: string }>`select * from item order by value`.execute(
    test.ctx.db,
  )
  return { values: rows.map(({ value }) => value), transactions: new Set(rows.map((row) => row.writtenIn)).size }
}

/** Fails if a connection of the pool was left inside a transaction. */
async function expectNoTransaction(): Promise<void> {
  for (let uses = 0; uses < 16; uses += 1)
    await expect(sql`savepoint outside`.execute(test.ctx.db)).rejects.toThrow(/transaction block/)
}

it('executes a statement for the items of a transaction at its end, alone or after others', async () => {
  const { ctx } = test
  expect(await inTx(ctx, (tx) => insertItem(tx, 1).then(() => 'result'))).toBe('result')
  expect(reported).toEqual([[1]])
  await inTx(ctx, async (tx) => {
    await insertItem(tx, 2)
    const { rows } = await sql`select from item where value = 2`.execute(tx)
    expect(rows).toEqual([])
    // The constraint is checked by the commit, after the item.
    await insertOther(tx, 3)
    await insertItem(tx, 3)
    expect(reported).toHaveLength(1)
  })
  expect(reported).toEqual([[1], [2, 3]])
  expect(await stored()).toEqual({ values: [1, 2, 3], transactions: 2 })
  await expectNoTransaction()
})

it('divides many items, in one transaction', async () => {
  await inTx(test.ctx, async (tx) => {
    for (let value = 1; value <= 7; value += 1) await insertItem(tx, value)
  })
  expect(reported).toEqual([[1, 2, 3], [4, 5, 6], [7]])
  expect(await stored()).toEqual({ values: [1, 2, 3, 4, 5, 6, 7], transactions: 1 })
})

it('executes it immediately in a transaction of another kind', async () => {
  await test.ctx.db.transaction().execute(async (tx) => {
    await insertItem(tx, 1)
    expect(reported).toEqual([[1]])
  })
  expect((await stored()).values).toEqual([1])
})

it('executes nothing after a failure of the work', async () => {
  const failing = inTx(test.ctx, async (tx) => {
    await insertItem(tx, 1)
    throw new Error('on purpose')
  })
  await expect(failing).rejects.toThrow('on purpose')
  expect([reported, (await stored()).values]).toEqual([[], []])
  await expectNoTransaction()
})

it('rolls everything back with its error if it fails, alone or after others', async () => {
  const { ctx } = test
  await inTx(ctx, (tx) => insertItem(tx, 1))
  await expect(inTx(ctx, (tx) => insertItem(tx, 1))).rejects.toThrow(/item_pkey/)
  const afterOthers = inTx(ctx, async (tx) => {
    await sql`insert into other values (null)`.execute(tx)
    await insertItem(tx, 1)
  })
  await expect(afterOthers).rejects.toThrow(/item_pkey/)
  expect((await sql`select from other`.execute(ctx.db)).rows).toEqual([])
  expect(reported).toEqual([[1]])
  await expectNoTransaction()
})

it('rolls it back if the commit fails', async () => {
  const failing = inTx(test.ctx, async (tx) => {
    await insertOther(tx, 9)
    await insertItem(tx, 1)
  })
  await expect(failing).rejects.toThrow(/foreign key/)
  expect([reported, (await stored()).values]).toEqual([[], []])
  await expectNoTransaction()
})

it('fails when the connection breaks before the end', async () => {
  const failing = inTx(test.ctx, async (tx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
    await sql`select pg_terminate_backend(${rows[0]?.pid}, 10000)`.execute(test.ctx.db)
    await insertItem(tx, 1)
  })
  await expect(failing).rejects.toThrow(/connection|terminat|ECONNRESET|EPIPE/i)
  expect([reported, (await stored()).values]).toEqual([[], []])
})

const insertOne = (tx: Tx, value: number) =>
  executeAtCommit(
    tx,
    sql<{ value: number; writtenIn: string }>`insert into item values (${value}) returning value, written_in`.compile(
      tx,
    ),
  )

it('sends several statements with the commit, in their order, and returns the rows of one', async () => {
  const { ctx } = test
  const rows = await inTx(ctx, async (tx) => {
    await insertItem(tx, 2)
    const written = insertOne(tx, 1)
    expect(written).toThrow(/not committed/)
    return written
  })
  expect(rows()).toEqual([{ value: 1, writtenIn: expect.any(String) }])
  await inTx(ctx, async (tx) => {
    await sql`insert into item values (3)`.execute(tx)
    insertOne(tx, 4)
    await insertItem(tx, 5)
  })
  expect(reported).toEqual([[2], [5]])
  expect(await stored()).toEqual({ values: [1, 2, 3, 4, 5], transactions: 2 })
  await expectNoTransaction()
})

it('rolls all of them back with the error of the first that fails', async () => {
  const { ctx } = test
  await inTx(ctx, (tx) => insertItem(tx, 1))
  for (const before of [false, true]) {
    const failing = inTx(ctx, async (tx) => {
      if (before) await sql`insert into item values (7)`.execute(tx)
      insertOne(tx, 8)
      insertOne(tx, 1)
      await insertItem(tx, 9)
    })
    await expect(failing).rejects.toThrow(/item_pkey/)
    await expectNoTransaction()
  }
  expect([reported, (await stored()).values]).toEqual([[[1]], [1]])
})
