import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Tx, inTx } from '../../src/platform/db.ts'
import { planEachTime } from '../../src/platform/prepared.ts'
import { type TestContext, createTestContext } from '../support/server.ts'
import { waitUntil } from '../support/wait-until.ts'

let test: TestContext
beforeEach(async () => {
  test = await createTestContext()
})
afterEach(() => test.close())

async function backendOf(tx: Tx): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
  return rows[0]?.pid ?? 0
}

it('survives a connection that breaks inside a transaction, between its queries', async () => {
  const { ctx } = test
  const broken = inTx(ctx, async (tx) => {
    const pid = await backendOf(tx)
    await sql`create table never_committed ()`.execute(tx)
    await sql`select pg_terminate_backend(${pid})`.execute(ctx.db)
    await waitUntil('the connection is gone', async () => {
      const { rows } = await sql`select from pg_stat_activity where pid = ${pid}`.execute(ctx.db)
      return rows.length === 0
    })
    await sql`select 1`.execute(tx)
  })
  await expect(broken).rejects.toThrow(/connection|terminat/i)
  const { rows } = await sql<{ found: boolean }>`select to_regclass('never_committed') is not null as found`.execute(
    ctx.db,
  )
  expect(rows).toEqual([{ found: false }])
})

it('survives a connection that breaks in the middle of a query', async () => {
  const { ctx } = test
  await expect(inTx(ctx, (tx) => sql`select pg_terminate_backend(pg_backend_pid())`.execute(tx))).rejects.toThrow(
    /terminat/i,
  )
  expect((await sql`select 1 as one`.execute(ctx.db)).rows).toEqual([{ one: 1 }])
})

it('prepares statements, but not one that is to be planned each time', async () => {
  await inTx(test.ctx, async (tx) => {
    await sql`select ${1}::integer as kept`.execute(tx)
    await sql`${planEachTime} select ${1}::integer as planned`.execute(tx)
    const { rows } = await sql<{
      statement: string
    }>`select statement from pg_prepared_statements where statement like ${'%::integer as%'}`.execute(tx)
    expect(rows.map(({ statement }) => statement)).toEqual(['select $1::integer as kept'])
  })
})
