import { EventEmitter, once } from 'node:events'
import type pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endPool } from '../../src/platform/database/end-pool.ts'
import { openPool } from '../../src/platform/database/pools.ts'
import { startJobs } from '../../src/platform/time/jobs.ts'
import { type TestDatabase, createTestDatabase } from '../support/database/database.ts'
import { waitUntil } from '../support/wait-until.ts'

const log = pino({ level: 'silent' })
let database: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool({ ...database.connection, max: 1 }, () => {})
})
afterAll(async () => {
  await endPool(pool)
  await database.drop()
})

test('installs its schema, runs queued jobs and retries failed ones', async () => {
  const ran = new EventEmitter()
  const payloads: unknown[] = []
  const jobs = await startJobs({
    connection: database.connection,
    log,
    tasks: [
      {
        name: 'greet',
        run: async (payload) => {
          payloads.push(payload)
          if (payloads.length === 1) {
            queueMicrotask(() => ran.emit('first'))
            throw new Error('not yet')
          }
          ran.emit('second')
        },
      },
    ],
  })
  const first = once(ran, 'first')
  await jobs.add('greet', { name: 'lab' })
  await first
  await jobs.stop()

  // The failed job stays in the database, due later: this makes it due and starts again, as after a restart.
  await pool.query(`update graphile_worker._private_jobs set run_at = now()`)
  const second = once(ran, 'second')
  const again = await startJobs({
    connection: database.connection,
    log,
    tasks: [{ name: 'greet', run: async (payload) => void (payloads.push(payload), ran.emit('second')) }],
  })
  await second
  await again.stop()
  expect(payloads).toEqual([{ name: 'lab' }, { name: 'lab' }])
})

test('registers scheduled jobs', async () => {
  const jobs = await startJobs({
    connection: database.connection,
    log,
    tasks: [{ name: 'sweep', cron: '17 1 * * *', run: async () => {} }],
  })
  const known = await waitUntil('a scheduled job', async () => {
    const { rows } = await pool.query('select identifier from graphile_worker._private_known_crontabs')
    return rows.length > 0 && rows
  })
  expect(known).toEqual([{ identifier: 'sweep' }])
  await jobs.stop()
})

test('stop notifies the running task and waits for it', async () => {
  const ran = new EventEmitter()
  let ended = false
  const jobs = await startJobs({
    connection: database.connection,
    log,
    tasks: [
      {
        name: 'long',
        run: async (_payload, signal) => {
          ran.emit('started')
          if (!signal.aborted) await once(signal, 'abort')
          ended = true
        },
      },
    ],
  })
  const started = once(ran, 'started')
  await jobs.add('long', {})
  await started
  await jobs.stop()
  expect(ended).toBe(true)
})
