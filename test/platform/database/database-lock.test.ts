import { pino } from 'pino'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { type DatabaseLock, lockDatabase } from '../../../src/platform/database/database-lock.ts'
import { startEmbeddedPostgres } from '../../../src/platform/embedded-postgres/embedded-postgres.ts'
import { type TestConnection, createTestDatabase } from '../../support/database/database.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const log = pino({ level: 'silent' })

async function openConnection(): Promise<TestConnection> {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  return database.connection
}

async function lock(connection: pg.ClientConfig, waitMs?: number): Promise<DatabaseLock> {
  const taken = await lockDatabase({ connection, log, program: 'test', ...(waitMs !== undefined && { waitMs }) })
  onTestFinished(() => taken.release())
  return taken
}

/** Opens a connection of the test's own, to inspect the database and to interfere. */
async function observe(connection: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(connection)
  client.on('error', () => {}) // The test stops the database of this connection.
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

/** Counts the sessions that hold a lock of the programs, or wait for one. */
async function sessions(client: pg.Client, granted: boolean): Promise<number[]> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_locks where locktype = 'advisory' and objsubid = 2 and granted = $1
      and database = (select oid from pg_database where datname = current_database())`,
    [granted],
  )
  return rows.map(({ pid }) => pid)
}

const end = (client: pg.Client, pid: number): Promise<unknown> => client.query('select pg_terminate_backend($1)', [pid])

test('names the holder and its session to a second program, which gets the lock once it is released', async () => {
  const connection = await openConnection()
  const first = await lock(connection)
  const [session] = await sessions(await observe(connection), true)
  await expect(lock(connection, 1)).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining(`is in use by signalbox test, process ${process.pid} on `),
  })
  await expect(lock(connection, 1)).rejects.toThrow(`(pid ${session} in pg_stat_activity)`)
  await first.release()
  await lock(connection, 1)
})

test('waits for a holder that is about to end', async () => {
  const connection = await openConnection()
  const observer = await observe(connection)
  await lock(connection)
  const [dying = 0] = await sessions(observer, true)
  const second = lock(connection)
  const [waiting] = await waitUntil('the second to wait', async () => {
    const found = await sessions(observer, false)
    return found.length > 0 && found
  })
  await end(observer, dying)
  await second
  expect(await sessions(observer, true)).toEqual([waiting])
})

test('takes the lock again when its connection breaks', async () => {
  const connection = await openConnection()
  const observer = await observe(connection)
  await lock(connection)
  const [before = 0] = await sessions(observer, true)
  await end(observer, before)
  const after = await waitUntil('another session to hold it', async () => {
    const [session] = await sessions(observer, true)
    return session !== undefined && session !== before
  })
  expect(after).toBe(true)
  await expect(lock(connection, 1)).rejects.toMatchObject({ code: 'conflict' })
})

test('reports the lock as lost when another program takes it while the connection is broken', async () => {
  const connection = await openConnection()
  const observer = await observe(connection)
  const first = await lock(connection)
  const [session = 0] = await sessions(observer, true)
  const second = lock(connection)
  await waitUntil('the second to wait', async () => (await sessions(observer, false)).length > 0)
  await end(observer, session)
  await second
  const [holder] = await sessions(observer, true)
  expect(await first.lost).toContain(`(pid ${holder} in pg_stat_activity)`)
})

test('survives a restart of the database', async () => {
  const dataDir = await temporaryDir()
  const start = () => startEmbeddedPostgres({ dataDir, log, durable: false })
  const before = await start()
  await lock(before.connection)
  await before.stop()
  const after = await start()
  onTestFinished(() => after.stop())
  const observer = await observe(after.connection)
  await waitUntil('the lock to be held again', async () => (await sessions(observer, true)).length === 1)
}, 60_000)
