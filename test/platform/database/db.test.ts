import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Reader, type Tx, inTx, inTxByKeys, inUnflushedTx } from '../../../src/platform/database/db.ts'
import { wakeAfterCommit } from '../../../src/platform/database/wakes.ts'
import { type TestContext, createTestContext } from '../../support/servers/server.ts'
import { waitUntil } from '../../support/wait-until.ts'

let test: TestContext
beforeEach(async () => {
  test = await createTestContext()
})
afterEach(() => test.close())

async function backendOf(tx: Tx): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
  return rows[0]?.pid ?? 0
}

it.each(['commits', 'fails'])('keeps nothing for a transaction that %s', async (end) => {
  const { ctx } = test
  const ended: Tx[] = []
  const ran = inTx(ctx, async (tx) => {
    ended.push(tx)
    wakeAfterCommit(tx, 'rollouts', ['a'])
    if (end === 'fails') throw new Error('failed')
  })
  await ran.catch(() => undefined)
  expect(ended).toHaveLength(1)
  for (const tx of ended) expect(() => wakeAfterCommit(tx, 'rollouts')).toThrow('wakeAfterCommit outside inTx')
})

it('survives a connection that breaks inside a transaction, between its queries', async () => {
  const { ctx } = test
  const broken = inTx(ctx, async (tx) => {
    const pid = await backendOf(tx)
    await sql`create table never_committed ()`.execute(tx)
    await sql`select pg_terminate_backend(${pid})`.execute(ctx.db)
    await waitUntil('the connection has ended', async () => {
      const { rows } = await sql`select from pg_stat_activity where pid = ${pid}`.execute(ctx.db)
      return rows.length === 0
    })
    await sql`select 1`.execute(tx)
  })
  // The driver may read the server's last words, or find the socket reset.
  await expect(broken).rejects.toThrow(/connection|terminat|ECONNRESET/i)
  const { rows } = await sql<{ found: boolean }>`select to_regclass('never_committed') is not null as found`.execute(
    ctx.db,
  )
  expect(rows).toEqual([{ found: false }])
})

it('survives a connection that breaks in the middle of a query', async () => {
  const { ctx } = test
  // The rollback, too, finds that the server is gone, and reports it in its own words.
  await expect(inTx(ctx, (tx) => sql`select pg_terminate_backend(pg_backend_pid())`.execute(tx))).rejects.toThrow(
    /terminat|EPIPE|ECONNRESET/i,
  )
  expect((await sql`select 1 as one`.execute(ctx.db)).rows).toEqual([{ one: 1 }])
})

it('joins by keys within a transaction that requests it, and not after it', async () => {
  const { ctx } = test
  const join = sql<{ node: string }>`explain
    select from device_status status join device on device.org_id = status.org_id and device.id = status.device_id`
  await sql`analyze device, device_status`.execute(ctx.db)
  const planOf = async (reader: Reader) => JSON.stringify((await join.execute(reader)).rows)
  expect(await inTxByKeys(ctx, planOf)).not.toMatch(/Hash Join|Merge Join|Seq Scan|Materialize/)
  expect(await planOf(ctx.db)).toMatch(/Hash Join|Merge Join|Seq Scan/)
})

it('keeps no cache of look-ups in a transaction by keys', async () => {
  // Many columns of the catalog have the same type.
  const join = sql`explain select typname from pg_attribute join pg_type on pg_type.oid = atttypid`
  const planIn = (tx: Tx) => join.execute(tx).then(({ rows }) => JSON.stringify(rows))
  const [plan, cachingPlan] = await inTxByKeys(test.ctx, async (tx) => {
    const off = await planIn(tx)
    await sql`set local enable_memoize = on`.execute(tx)
    return [off, await planIn(tx)]
  })
  expect(plan).not.toContain('Memoize')
  expect(cachingPlan).toContain('Memoize')
})

it('runs the first statement inside the transaction, whether it or the work after it fails', async () => {
  const { ctx } = test
  const createThenFail = inTx(ctx, async (tx) => {
    await sql`create table rolled_back ()`.execute(tx)
    throw new Error('on purpose')
  })
  await expect(createThenFail).rejects.toThrow('on purpose')
  await expect(inTx(ctx, (tx) => sql`select 1 / ${0}::int`.execute(tx))).rejects.toThrow('division by zero')
  await inTx(ctx, async () => {})
  const inTransaction = await inTx(ctx, async (tx) => {
    await sql`savepoint only_in_a_transaction`.execute(tx)
    return sql<{ found: boolean }>`select to_regclass('rolled_back') is not null as found`.execute(tx)
  })
  expect(inTransaction.rows).toEqual([{ found: false }])
  // Outside a transaction PostgreSQL refuses savepoints: no connection was left inside one.
  for (let uses = 0; uses < 16; uses += 1)
    await expect(sql`savepoint outside`.execute(ctx.db)).rejects.toThrow(/transaction block/)
})

it('commits without waiting for the disk only where a transaction allows it', async () => {
  const { ctx } = test
  const settingIn = async (tx: Reader) =>
    (await sql<{ value: string }>`select current_setting('synchronous_commit') as value`.execute(tx)).rows[0]?.value
  await sql`create table kept (id integer)`.execute(ctx.db)
  // The database of tests never waits for the disk. One query at a time uses the same connection.
  await sql`set synchronous_commit = on`.execute(ctx.db)
  const within = await inUnflushedTx(ctx, async (tx) => {
    await sql`insert into kept values (1)`.execute(tx)
    return settingIn(tx)
  })
  expect(within).toBe('off')
  expect((await sql`select id from kept`.execute(ctx.db)).rows).toEqual([{ id: 1 }])
  expect(await inTx(ctx, settingIn)).toBe('on')
  const failed = inUnflushedTx(ctx, async (tx) => {
    await sql`insert into kept values (2)`.execute(tx)
    throw new Error('on purpose')
  })
  await expect(failed).rejects.toThrow('on purpose')
  expect(await inTx(ctx, settingIn)).toBe('on')
  expect((await sql`select id from kept`.execute(ctx.db)).rows).toHaveLength(1)
})

it('wakes the workers when the connection breaks during the commit, because the rows may be there', async () => {
  const { ctx } = test
  const woken: string[][] = []
  const stops = [
    ctx.wakes.on('deliveries', (ids) => woken.push([...ids])),
    ctx.wakes.on('outbox', (ids) => woken.push([...ids])),
  ]
  const breakAt = (moment: 'work' | 'commit') =>
    inTx(ctx, async (tx) => {
      wakeAfterCommit(tx, 'deliveries', ['row'])
      const end = sql`select pg_terminate_backend(pg_backend_pid())`
      if (moment === 'work') await end.execute(tx)
      // A constraint that is checked at the commit ends the connection there.
      await sql`create temporary table ended (id integer)`.execute(tx)
      await sql`create function pg_temp.end_session() returns trigger language plpgsql as
        'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'`.execute(tx)
      await sql`create constraint trigger ends after insert on ended deferrable initially deferred
        for each row execute function pg_temp.end_session()`.execute(tx)
      await sql`insert into ended values (1)`.execute(tx)
    })
  await expect(breakAt('work')).rejects.toThrow(/terminat|EPIPE|ECONNRESET/i)
  expect(woken).toEqual([])
  await expect(breakAt('commit')).rejects.toThrow(/terminat|EPIPE|ECONNRESET/i)
  expect(woken).toEqual([['row'], []])
  for (const stop of stops) stop()
})
