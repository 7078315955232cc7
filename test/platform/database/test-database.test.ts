import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { createEmptyDatabase, createTestDatabase } from '../../support/database/database.ts'
import { preparePartitions } from '../../../src/platform/database/partitions.ts'
import { keptDays } from '../../../src/webhooks/partitions.ts'
import { createTestContext } from '../../support/servers/server.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { type LentDatabase, lendDatabase } from '../../support/database/lent-databases.ts'

async function tableCount(connection: pg.ClientConfig): Promise<number> {
  const client = new pg.Client(connection)
  await client.connect()
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  await client.end()
  return rows[0]?.count ?? -1
}

test('a test database is migrated, an empty one is not', async () => {
  const [migrated, empty] = await Promise.all([createTestDatabase(), createEmptyDatabase()])
  expect(await tableCount(migrated.connection)).toBeGreaterThan(0)
  expect(await tableCount(empty.connection)).toBe(0)
  await Promise.all([migrated.drop(), empty.drop()])
})

test('drop ends the sessions on the database', async () => {
  const database = await createTestDatabase()
  const client = new pg.Client(database.connection)
  await client.connect()
  // There are two errors: the server's last message, then the closed socket.
  const ended = new Promise((resolve) => client.on('error', resolve))
  await database.drop()
  expect(await ended).toMatchObject({ code: '57P01' })
  await expect(tableCount(database.connection)).rejects.toMatchObject({ code: '3D000' })
})

describe('a database that a test returns', () => {
  async function giveBack({ pools, database }: LentDatabase): Promise<void> {
    await pools.close()
    await database.drop()
  }

  /** Returns whether the next test gets the same database. */
  async function isLentAgain(change: string): Promise<boolean> {
    const lent = await lendDatabase()
    const { connection } = lent.database
    await lent.pools.db.query(change)
    await giveBack(lent)
    const next = await lendDatabase()
    const same = next.database.connection.database === connection.database
    await giveBack(next)
    return same
  }

  test('is lent again without its rows and with sequences that begin again', async () => {
    const lent = await lendDatabase()
    const { rows } = await lent.pools.db.query(`select nextval('device_call_id')`)
    await lent.pools.db.query(`
      insert into org (id, name, doc, created_at, modified_at) values (gen_random_uuid(), 'Org', '{}', now(), now())`)
    await giveBack(lent)
    const next = await lendDatabase()
    expect(next.database.connection).toEqual(lent.database.connection)
    expect((await next.pools.db.query('select from org')).rowCount).toBe(0)
    expect((await next.pools.db.query(`select nextval('device_call_id')`)).rows).toEqual(rows)
    await giveBack(next)
  })

  test('is not lent again if more than rows has changed', async () => {
    expect(await isLentAgain('select 1')).toBe(true)
    expect(await isLentAgain('alter table org add check (true)')).toBe(false)
    expect(await isLentAgain('analyze org')).toBe(false)
    expect(await isLentAgain('delete from device_event_kind')).toBe(false)
    expect(await isLentAgain('select pg_advisory_lock(1)')).toBe(false)
    expect(await isLentAgain('begin')).toBe(false)
    const settings = `do $$ begin execute format('alter database %I set jit = off', current_database()); end $$`
    expect(await isLentAgain(settings)).toBe(false)
    expect(await isLentAgain(`select lo_from_bytea(0, 'x')`)).toBe(false)
  })

  test('is lent again without what the sessions have set', async () => {
    const lent = await lendDatabase()
    const stateOf = async ({ pools }: LentDatabase) =>
      (await pools.hotDb.query(`select array(select pg_listening_channels()), current_setting('plan_cache_mode')`)).rows
    const before = await stateOf(lent)
    await lent.pools.hotDb.query('listen it; set plan_cache_mode = auto')
    expect(await stateOf(lent)).not.toEqual(before)
    await giveBack(lent)
    const next = await lendDatabase()
    expect(next.database.connection).toEqual(lent.database.connection)
    expect(await stateOf(next)).toEqual(before)
    await giveBack(next)
  })

  test('is returned once, because two tests would get it otherwise', async () => {
    const lent = await lendDatabase()
    await giveBack(lent)
    await expect(giveBack(lent)).rejects.toThrow('returned already')
  })

  test('is lent again with the partitions that workers created for its days', async () => {
    const clock = createTestClock()
    const [first, second] = [await nameAfterPartitions(clock), await nameAfterPartitions(clock)]
    expect(second).toBe(first)
  })

  async function nameAfterPartitions(clock: TestClock): Promise<string> {
    const context = await createTestContext(clock)
    await preparePartitions(context.ctx, keptDays)
    await context.close()
    return context.database.connection.database
  }

  test('is not lent again while a session uses it', async () => {
    const lent = await lendDatabase()
    const client = new pg.Client(lent.database.connection)
    client.on('error', () => {})
    await client.connect()
    await giveBack(lent)
    const next = await lendDatabase()
    expect(next.database.connection.database).not.toBe(lent.database.connection.database)
    await giveBack(next)
  })
})
