import { EventEmitter } from 'node:events'
import { type Runner, type RunnerOptions, Logger as WorkerLogger, parseCronItems, run } from 'graphile-worker'
import type pg from 'pg'
import { endPool } from '../database/connections/end-pool.ts'
import { openPool } from '../database/connections/pools.ts'
import type { Logger } from '../log.ts'
import { pause } from './pause.ts'

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
  /** Waits for running tasks, and until their ends are recorded; those that ignore their signal are repeated later. */
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
/** The end of a task is recorded by one short statement. If it takes longer, the end of the pool waits for it. */
const RECORD_WITHIN_MS = 2000
const BACKFILL_MS = 24 * 3600e3
const AGAIN_MS = 1000

/**
 * Runs the tasks with graphile-worker, which installs and updates its own schema, `graphile_worker`. A due run happens
 * once, even when a server is killed and another one replaces it. If the end of a task can't be recorded, its run is repeated
 * hours later, as after a crash.
 */
export async function startJobs({ connection, log: parent, tasks }: JobsOptions): Promise<Jobs> {
  const log = parent.child({ worker: 'jobs' })
  const stopping = new AbortController()
  const { signal } = stopping
  const lost = (error: Error): void => log.warn({ err: error }, 'database connection lost')
  const pool = openPool({ ...connection, max: MAX_CONNECTIONS }, lost)
  pool.on('connect', (client) => client.on('error', lost))
  const runs: Runs = new Set()
  /** Null: it has ended by itself. */
  let runner: Runner | null = null
  let restarted = Promise.resolve()

  async function begin(): Promise<Runner> {
    const events = new EventEmitter()
    events.once('pool:gracefulShutdown', () => {
      if (!signal.aborted) restarted = beginAgain()
    })
    return run({ ...runnerOptions(tasks, runs, signal), events, pgPool: pool, logger: workerLogger(log) })
  }

  /** A runner ends by itself if it can't record the end of a task. Its other tasks end first, and their ends are recorded. */
  async function beginAgain(): Promise<void> {
    const former = runner
    runner = null
    if (former !== null) await untilEnded(former.promise, runs)
    for (;;) {
      await pause(AGAIN_MS, signal)
      if (signal.aborted) return
      try {
        runner = await begin()
        return
      } catch (error) {
        log.error({ err: error }, "the chores can't begin again yet")
      }
    }
  }

  const { addJob } = (runner = await begin().catch(async (error: unknown) => {
    await endPool(pool)
    throw error
  }))
  return {
    async add(name, payload) {
      await addJob(name, payload)
    },
    async stop() {
      stopping.abort()
      await restarted
      if (runner !== null) await untilEnded(runner.stop(), runs)
      await endPool(pool)
    },
  }
}

/** The tasks that are running. */
type Runs = Set<Promise<void>>

/**
 * Waits for the end of a runner: for its tasks as long as they take, and then for a short time. After the end of one task could not
 * be recorded, graphile-worker miscounts the records in progress, and may wait for them forever; see decision 453.
 */
async function untilEnded(ending: Promise<unknown>, runs: Runs): Promise<void> {
  const ended = new AbortController()
  const { signal } = ended
  const untilRecorded = async (): Promise<void> => {
    do {
      await Promise.allSettled(runs)
      await pause(RECORD_WITHIN_MS, signal)
    } while (runs.size > 0 && !signal.aborted)
  }
  try {
    await Promise.race([ending, untilRecorded()])
  } finally {
    ended.abort()
  }
}

function runnerOptions(tasks: readonly Task[], runs: Runs, signal: AbortSignal): RunnerOptions {
  const runTask = (task: Task, payload: unknown): Promise<void> => {
    const ran = task.run(payload, signal).finally(() => runs.delete(ran))
    runs.add(ran)
    return ran
  }
  return {
    concurrency: CONCURRENCY,
    // The process ends in the order that app/ decides.
    noHandleSignals: true,
    preset: {
      worker: {
        pollInterval: POLL_MS,
        gracefulShutdownAbortTimeout: STOP_WITHIN_MS,
        // Without these, nothing waits for the record of the end of a task, and if it fails, as after the end of the pool, the
        // rejection ends the process.
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
    taskList: Object.fromEntries(tasks.map((task) => [task.name, (payload) => runTask(task, payload)])),
    parsedCronItems: parseCronItems(
      tasks.flatMap(({ name, cron }) =>
        cron === undefined ? [] : [{ task: name, match: cron, options: { backfillPeriod: BACKFILL_MS } }],
      ),
    ),
  }
}

const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'trace' } as const

function workerLogger(log: Logger): WorkerLogger {
  return new WorkerLogger((scope) => (level, message, meta) => log[levels[level]]({ ...scope, ...meta }, message))
}
