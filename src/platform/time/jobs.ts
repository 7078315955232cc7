import { Logger as WorkerLogger, parseCronItems, run } from 'graphile-worker'
import type pg from 'pg'
import { endPool } from '../database/end-pool.ts'
import { openPool } from '../database/pools.ts'
import type { Logger } from '../log.ts'

/** An ordinary chore: mail, sweeps, partitions. The database stores it until it has run. */
export interface Task {
  /** Lower case with underscores. */
  readonly name: string
  /**
   * When to run without a request: five cron fields, UTC. A run that was missed while no server was up is made up for,
   * if it was due within the last day.
   */
  readonly cron?: string
  /** Must cope with being called again after a crash or a thrown error. `signal` aborts at stop. */
  readonly run: (payload: unknown, signal: AbortSignal) => Promise<void>
}

export interface Jobs {
  /** Requests a run of a registered task. */
  add(name: string, payload: unknown): Promise<void>
  /** Waits for running tasks; those that ignore their signal are repeated later. */
  stop(): Promise<void>
}

export interface JobsOptions {
  readonly connection: pg.PoolConfig
  readonly log: Logger
  readonly tasks: readonly Task[]
}

/** Chores are few and not urgent. */
const CONCURRENCY = 2
/**
 * One more connection listens for new jobs. It is separate from the pool of requests, which chores must not exhaust.
 */
const MAX_CONNECTIONS = CONCURRENCY + 1
const POLL_MS = 10_000
const STOP_WITHIN_MS = 5000
const BACKFILL_MS = 24 * 3600e3

/**
 * Runs the tasks with graphile-worker, which installs and updates its own schema, `graphile_worker`. A due run happens
 * once, even when a server is killed and another one replaces it.
 */
export async function startJobs({ connection, log: parent, tasks }: JobsOptions): Promise<Jobs> {
  const log = parent.child({ worker: 'jobs' })
  const stopping = new AbortController()
  const lost = (error: Error): void => log.warn({ err: error }, 'database connection lost')
  const pool = openPool({ ...connection, max: MAX_CONNECTIONS }, lost)
  pool.on('connect', (client) => client.on('error', lost))
  const runner = await run({
    pgPool: pool,
    logger: workerLogger(log),
    concurrency: CONCURRENCY,
    // The process ends in the order that app/ decides.
    noHandleSignals: true,
    preset: { worker: { pollInterval: POLL_MS, gracefulShutdownAbortTimeout: STOP_WITHIN_MS } },
    taskList: Object.fromEntries(tasks.map((task) => [task.name, (payload) => task.run(payload, stopping.signal)])),
    parsedCronItems: parseCronItems(
      tasks.flatMap(({ name, cron }) =>
        cron === undefined ? [] : [{ task: name, match: cron, options: { backfillPeriod: BACKFILL_MS } }],
      ),
    ),
  }).catch(async (error: unknown) => {
    await endPool(pool)
    throw error
  })
  return {
    async add(name, payload) {
      await runner.addJob(name, payload)
    },
    async stop() {
      stopping.abort()
      await runner.stop()
      await endPool(pool)
    },
  }
}

const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'trace' } as const

function workerLogger(log: Logger): WorkerLogger {
  return new WorkerLogger((scope) => (level, message, meta) => log[levels[level]]({ ...scope, ...meta }, message))
}
