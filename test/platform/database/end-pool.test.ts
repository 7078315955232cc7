import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { countPool, endPool } from '../../../src/platform/database/connections/end-pool.ts'
import { openPool } from '../../../src/platform/database/connections/pools.ts'
import { LATE_STOP_MS } from '../../../src/platform/time/late-stop.ts'
import { type TestDatabase, createTestDatabase } from '../../support/database/database.ts'
import { createTestContext } from '../../support/servers/server.ts'

const SOON_MS = 100

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const open = (options: pg.PoolConfig = {}): pg.Pool => openPool({ ...database.connection, ...options }, () => {})

/** Starts a server and returns the options for a connection to it. */
async function listen(onConnection: (socket: Socket) => void): Promise<pg.PoolConfig> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onConnection(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

/** Starts a proxy in front of the database that passes on what a client sends until `hush` is called, and never ends. */
async function listenBefore(): Promise<{ readonly options: pg.PoolConfig; readonly hush: () => void }> {
  const { host, port } = database.connection
  const path = `${host}/.s.PGSQL.${port}`
  let isQuiet = false
  const options = await listen((client) => {
    const server = connect({ path, allowHalfOpen: true })
    onTestFinished(() => void server.destroy())
    client.on('data', (bytes) => void (isQuiet || server.write(bytes)))
    server.on('data', (bytes) => client.write(bytes))
  })
  return { options, hush: () => void (isQuiet = true) }
}

it('ends when a connection opens only then', async () => {
  const pool = open()
  const asked = pool.query<{ one: number }>('select 1 as one')
  await endPool(pool)
  expect((await asked).rows).toEqual([{ one: 1 }])
  expect(countPool(pool)).toEqual({ open: 0, inUse: 0, waiting: 0 })
})

it('ends when the database refuses a connection during the end', async () => {
  const pool = open({ database: 'missing' })
  const refused = expect(pool.query('select 1')).rejects.toThrow('database "missing" does not exist')
  await endPool(pool)
  await refused
})

it('ends when a connection breaks during the end before it has opened', async () => {
  const { promise: reached, resolve } = Promise.withResolvers<Socket>()
  const pool = open(await listen(resolve))
  const failed = expect(pool.query('select 1')).rejects.toThrow('Connection terminated unexpectedly')
  const socket = await reached
  const ended = endPool(pool)
  socket.destroy()
  await ended
  await failed
})

it('refuses a query that waits for a connection, and waits for one that is returned later', async () => {
  const pool = open({ max: 1 })
  const client = await pool.connect()
  const refused = expect(pool.query('select 1')).rejects.toThrow('The pool of connections was ended')
  expect(countPool(pool)).toEqual({ open: 1, inUse: 1, waiting: 1 })
  const ended = endPool(pool)
  await refused
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  client.release()
  await ended
})

it('refuses a query for which a connection was free at that moment', async () => {
  const pool = open()
  await pool.query('select 1')
  const refused = expect(pool.query('select 2')).rejects.toThrow('The pool of connections was ended')
  await endPool(pool)
  await refused
})

it('waits for the answers to queries of connections that were returned before', async () => {
  const pool = open({ max: 1 })
  const client = await pool.connect()
  const asked = [client.query('select pg_sleep(0.05)'), client.query('select 1 as one')]
  client.release()
  await endPool(pool)
  expect((await Promise.all(asked)).map(({ rows }) => rows.length)).toEqual([1, 1])
})

it('ends when the database ends an idle connection at the same time', async () => {
  const pool = open({ max: 2 })
  const [first, second] = await Promise.all([pool.connect(), pool.connect()])
  const { rows } = await first.query<{ pid: number }>('select pg_backend_pid() as pid')
  first.release()
  const terminated = second.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  const ended = endPool(pool)
  await terminated
  second.release()
  await ended
  expect(countPool(pool)).toEqual({ open: 0, inUse: 0, waiting: 0 })
})

it('cuts a connection that the server does not open', async () => {
  const pool = open(await listen(() => {}))
  const failed = expect(pool.query('select 1')).rejects.toThrow('Connection terminated unexpectedly')
  await expect(endPool(pool, SOON_MS)).rejects.toThrow(
    'Connections to the database were cut after 100 ms: 1 were open, 1 in use',
  )
  await failed
})

it('cuts a connection whose end the server does not answer', async () => {
  const { options, hush } = await listenBefore()
  const pool = open(options)
  await pool.query('select 1')
  hush()
  await expect(endPool(pool, SOON_MS)).rejects.toThrow(
    'Connections to the database were cut after 100 ms: 1 were open, 0 in use',
  )
  expect(countPool(pool).open).toBe(0)
})

it('cuts a connection with a query that the server does not answer, and the query fails', async () => {
  const { options, hush } = await listenBefore()
  const pool = open(options)
  const client = await pool.connect()
  await client.query('select 1')
  hush()
  const failed = expect(client.query('select 2')).rejects.toThrow('Connection terminated')
  client.release()
  await expect(endPool(pool, SOON_MS)).rejects.toThrow('were cut')
  await failed
})

it('cuts a connection that is not returned', async () => {
  const pool = open()
  const client = await pool.connect()
  await expect(endPool(pool, SOON_MS)).rejects.toThrow('1 in use')
  await expect(client.query('select 1')).rejects.toThrow('not queryable')
  client.release()
})

it('refuses a pool whose connections it does not know', async () => {
  const pool = new pg.Pool(database.connection)
  await expect(endPool(pool)).rejects.toThrow('The pool was not opened by openPool()')
  await pool.end()
})

it('names the pool for which the stop of a context waits', async () => {
  const context = await createTestContext()
  const { ctx } = context
  const warn = vi.spyOn(ctx.log, 'warn').mockImplementation(() => {})
  const { promise: isDone, resolve: end } = Promise.withResolvers<void>()
  const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>()
  const work = ctx.keyDb.transaction().execute(async (tx) => {
    await sql`select 1`.execute(tx)
    begin()
    await isDone
  })
  await hasBegun
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const closed = context.close()
  // The stop of the service clock comes before.
  await vi.waitUntil(() => vi.getTimerCount() > 2)
  vi.advanceTimersByTime(LATE_STOP_MS)
  vi.useRealTimers()
  end()
  await work
  await closed
  const counts = { part: 'connections of keyDb', open: 1, inUse: 1, waiting: 0 }
  expect(warn.mock.calls).toContainEqual([counts, 'has not stopped yet'])
})
