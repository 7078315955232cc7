import type pg from 'pg'
import type { Limits } from '../platform/limits.ts'
import { createMetrics } from '../platform/process/prometheus.ts'
import { type Clock, systemClock } from '../platform/time/clock.ts'
import type { Context } from '../platform/context.ts'
import { createCrowding } from '../platform/queues/crowding.ts'
import { openDb } from '../platform/database/db.ts'
import { countPool, endPool } from '../platform/database/connections/end-pool.ts'
import {
  openClaimPool,
  openHeavyPool,
  openHotPool,
  openKeyPool,
  openPool,
  openQueuePool,
} from '../platform/database/connections/pools.ts'
import type { Logger } from '../platform/log.ts'
import type { Secrets } from '../platform/secrets.ts'
import { nameLateStop } from '../platform/time/late-stop.ts'
import type { ServiceClock, TimeReading } from '../platform/time/service-clock.ts'
import { type RunningServiceClock, startServiceClock } from '../platform/time/start-service-clock.ts'
import { createWakes } from '../platform/database/wakes.ts'
import { defaultLimits } from './config/config-limits.ts'

export interface ContextOptions {
  /** A database that is migrated. */
  readonly connection: pg.PoolConfig
  readonly log: Logger
  readonly secrets: Secrets
  /** Null: known only once the server listens, because the system chooses the port. */
  readonly baseUrl: string | null
  readonly limits?: Limits
  readonly clock?: Clock
  /** Default: the service time of this installation, which the database stores. */
  readonly serviceClock?: ServiceClock
  /** Lowers the priority of a process of the database. Default: none is lowered. */
  readonly lowerBackend?: (pid: number) => unknown
}

export interface OpenContext {
  readonly ctx: Context
  /** The connections of `ctx.db`. */
  readonly pool: pg.Pool
  /** The connections of `ctx.queueDb`. */
  readonly queuePool: pg.Pool
  /** Those of all parts of `ctx`. */
  readonly pools: readonly pg.Pool[]
  /** Sets the address unless it was known before. */
  setAddress(url: string): void
  /** Called when devices can connect: service time stands still until then. */
  listen(): void
  /** Reads the service time for another thread. */
  readonly readTime: () => TimeReading
  /** Persists the service time and closes the connections. @param withinMs As of endPool(). */
  close(withinMs?: number): Promise<void>
}

/** Composes the context of a program: the only place where its parts are put together. */
export async function openContext(options: ContextOptions): Promise<OpenContext> {
  const { connection, log, secrets, limits = defaultLimits, clock = systemClock, lowerBackend } = options
  const onLost = (error: Error): void => log.warn({ err: error }, 'database connection lost')
  const pool = openPool(connection, onLost)
  const hotPool = openHotPool(connection, onLost)
  const keyPool = openKeyPool(connection, onLost)
  const claimPool = openClaimPool(connection, onLost)
  const queuePool = openQueuePool(connection, onLost)
  const onOpen = (pid: number): void => void lowerBackend?.(pid)
  const heavyPools = [0, 1].map(() => openHeavyPool(connection, { onError: onLost, onOpen }))
  const named: readonly (readonly [string, pg.Pool])[] = [
    ['db', pool],
    ['hotDb', hotPool],
    ['keyDb', keyPool],
    ['claimDb', claimPool],
    ['queueDb', queuePool],
    ...heavyPools.map((each) => ['heavyDbs', each] as const),
  ]
  const pools = named.map(([, each]) => each)
  const closePools = async (withinMs?: number): Promise<void> => {
    const ended = await Promise.allSettled(
      named.map(([name, each]) =>
        nameLateStop(log, `connections of ${name}`, endPool(each, withinMs), () => countPool(each)),
      ),
    )
    for (const each of ended) if (each.status === 'rejected') throw each.reason
  }
  const base = {
    db: openDb(pool, secrets),
    hotDb: openDb(hotPool, secrets),
    keyDb: openDb(keyPool, secrets),
    claimDb: openDb(claimPool, secrets),
    queueDb: openDb(queuePool, secrets),
    heavyDbs: heavyPools.map((each) => openDb(each, secrets)),
    clock,
    wakes: createWakes(),
    log,
    metrics: createMetrics(),
    secrets,
    limits,
  }
  const serviceClock = await openServiceClock(base, options.serviceClock).catch(async (error: unknown) => {
    await closePools()
    throw error
  })
  let { baseUrl } = options
  return {
    ctx: {
      ...base,
      serviceClock,
      crowding: createCrowding(serviceClock),
      get baseUrl() {
        // An answer that comes too early must not be wrong.
        if (baseUrl === null) throw new Error('The address is not known before the server listens')
        return baseUrl
      },
    },
    pool,
    queuePool,
    pools,
    setAddress(url) {
      baseUrl ??= url
    },
    listen: () => serviceClock.listen(),
    readTime: () => serviceClock.read(),
    close: (withinMs) => serviceClock.stop().finally(() => closePools(withinMs)),
  }
}

async function openServiceClock(
  base: Pick<Context, 'db' | 'wakes' | 'clock' | 'log'>,
  given: ServiceClock | undefined,
): Promise<RunningServiceClock> {
  if (given === undefined) return startServiceClock(base)
  const read = (): TimeReading => ({
    nowMs: given.nowMs(),
    listeningSinceMs: given.listeningSinceMs(),
    takenAtMs: null,
  })
  return { ...given, read, listen: () => undefined, stop: () => Promise.resolve() }
}
