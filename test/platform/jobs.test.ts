import { EventEmitter, once } from 'node:events'
import type pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endPool } from '../../src/platform/database/connections/end-pool.ts'
import { openPool } from '../../src/platform/database/connections/pools.ts'
import { type Jobs, startJobs } from '../../src/platform/time/jobs.ts'
import { type TestDatabase, createTestDatabase } from '../support/database/database.ts'
import { waitUntil } from '../support/wait-until.ts'

const log = pino({ level: 'silent' })
let database: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool({ ...database.connection, max: 2 }, () => {})
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

/** A task that ends or fails when the test wants it. */
function createGated(name: string) {
  const started = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const run = async (): Promise<void> => {
    started.resolve()
    await end.promise
  }
  return {
    started: started.promise,
    end: () => end.resolve(),
    fail: () => end.reject(new Error('in vain')),
    task: { name, run },
  }
}

const listOpen = async (): Promise<unknown[]> =>
  (await pool.query(`select task_identifier from graphile_worker.jobs`)).rows

/** True if no runner listens for new tasks. Its connection may have another statement since. */
async function isDeaf(): Promise<boolean> {
  const { rows } = await pool.query(
    `select from pg_stat_activity where datname = current_database() and query like 'LISTEN%'`,
  )
  return rows.length === 0
}

test('a stop waits until the end of a task is recorded, however late the task ends', async () => {
  const { started, end, task } = createGated('late')
  await waitUntil('the former runner is gone', isDeaf)
  const jobs = await startJobs({ connection: database.connection, log, tasks: [task] })
  await jobs.add('late', {})
  await started
  const stopped = jobs.stop()
  // The second answer arrives after the runner has read that it is deaf.
  await waitUntil('nothing but the task is waited for', async () => (await isDeaf()) && isDeaf())
  end()
  await stopped
  expect(await listOpen()).toEqual([])
})

/** Ends a task whose end can't be recorded, because the connection breaks. @param meanwhile Called before it breaks. */
async function endUnrecorded(end: () => void, meanwhile?: () => Promise<void>): Promise<void> {
  const holder = await pool.connect()
  await holder.query('begin; select from graphile_worker._private_jobs for update')
  end()
  await meanwhile?.()
  await waitUntil('the record of its end is cut', async () => {
    const { rows } = await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like '%delete from%'`,
    )
    return rows.length > 0
  })
  await holder.query('rollback')
  holder.release()
  await waitUntil('the runner ends', isDeaf)
}

/** Adds a task to a pool that may still have the connection that was cut. */
const addAfterBreak = (jobs: Jobs, name: string): Promise<boolean> =>
  waitUntil('the task is added', () =>
    jobs.add(name, {}).then(
      () => true,
      () => false,
    ),
  )

test('tasks run again after the end of one could not be recorded', async () => {
  const { started, end, task } = createGated('cut')
  await waitUntil('the former runner is gone', isDeaf)
  const next = createGated('next')
  const jobs = await startJobs({ connection: database.connection, log, tasks: [task, next.task] })
  await jobs.add('cut', {})
  await started
  await endUnrecorded(end)
  await addAfterBreak(jobs, 'next')
  await next.started
  next.end()
  await jobs.stop()
  expect(await listOpen()).toEqual([{ task_identifier: 'cut' }])
})

test('tasks run again although a runner that has ended by itself waits forever', async () => {
  await pool.query('delete from graphile_worker._private_jobs')
  const unrecorded = createGated('unrecorded')
  const recorded = createGated('recorded')
  const failing = createGated('failing')
  const next = createGated('next')
  await waitUntil('the former runner is gone', isDeaf)
  const tasks = [unrecorded, recorded, failing, next].map(({ task }) => task)
  const jobs = await startJobs({ connection: database.connection, log, tasks })
  await jobs.add('unrecorded', {})
  await jobs.add('recorded', {})
  await unrecorded.started
  await recorded.started
  await endUnrecorded(unrecorded.end, async () => {
    await jobs.add('failing', {})
    await failing.started
  })
  recorded.end()
  // graphile-worker counts this record twice, and failures apart: it misses that all records are complete.
  await waitUntil('the end is recorded', async () => (await listOpen()).length === 2)
  failing.fail()
  await addAfterBreak(jobs, 'next')
  await next.started
  next.end()
  await jobs.stop()
  expect(await listOpen()).toEqual([{ task_identifier: 'unrecorded' }, { task_identifier: 'failing' }])
})

test('a stop waits for the tasks of a runner that has ended by itself', async () => {
  await pool.query('delete from graphile_worker._private_jobs')
  const unrecorded = createGated('unrecorded')
  const other = createGated('other')
  await waitUntil('the former runner is gone', isDeaf)
  const tasks = [unrecorded.task, other.task]
  const jobs = await startJobs({ connection: database.connection, log, tasks })
  for (const { name } of tasks) await jobs.add(name, {})
  await unrecorded.started
  await other.started
  await endUnrecorded(unrecorded.end)
  const stopped = jobs.stop()
  // A stop that waits for nothing ends its pool at once.
  await pool.query('select')
  other.end()
  await stopped
  expect(await listOpen()).toEqual([{ task_identifier: 'unrecorded' }])
})
