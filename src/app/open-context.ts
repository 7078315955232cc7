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

interface PoolOptions {
  /** A database that is migrated. */
  readonly connection: pg.PoolConfig
  readonly log: Logger
  /** Lowers the priority of a process of the database. Default: none is lowered. */
  readonly lowerBackend?: (pid: number) => unknown
}

export interface ContextOptions {
  readonly log: Logger
  readonly secrets: Secrets
  /** Null: known only once the server listens, because the system chooses the port. */
  readonly baseUrl: string | null
  readonly limits?: Limits
  readonly clock?: Clock
  /** Default: the service time of this installation, which the database stores. */
  readonly serviceClock?: ServiceClock
}

/** The connections of a context. */
export interface ContextPools {
  readonly db: pg.Pool
  readonly hotDb: pg.Pool
  readonly keyDb: pg.Pool
  readonly claimDb: pg.Pool
  readonly queueDb: pg.Pool
  readonly heavyDbs: readonly pg.Pool[]
  readonly all: readonly pg.Pool[]
  /** @param withinMs As of endPool(). */
  readonly close: (withinMs?: number) => Promise<void>
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

/** Opens the connections of a context to the database. */
export function openContextPools({ connection, log, lowerBackend }: PoolOptions): ContextPools {
  const onLost = (error: Error): void => log.warn({ err: error }, 'database connection lost')
  const onOpen = (pid: number): void => void lowerBackend?.(pid)
  const pools = {
    db: openPool(connection, onLost),
    hotDb: openHotPool(connection, onLost),
    keyDb: openKeyPool(connection, onLost),
    claimDb: openClaimPool(connection, onLost),
    queueDb: openQueuePool(connection, onLost),
    heavyDbs: [0, 1].map(() => openHeavyPool(connection, { onError: onLost, onOpen })),
  }
  const named = Object.entries(pools).flatMap(([name, some]) => [some].flat().map((pool) => ({ name, pool })))
  return {
    ...pools,
    all: named.map(({ pool }) => pool),
    async close(withinMs) {
      const ended = await Promise.allSettled(
        named.map(({ name, pool }) =>
          nameLateStop(log, `connections of ${name}`, endPool(pool, withinMs), () => countPool(pool)),
        ),
      )
      for (const each of ended) if (each.status === 'rejected') throw each.reason
    },
  }
}

/** Opens the connections and the context of a program. */
export function openContext(options: PoolOptions & ContextOptions): Promise<OpenContext> {
  return composeContext(openContextPools(options), options)
}

/** Composes a context: the only place where its parts are put together. It closes the connections. */
export async function composeContext(pools: ContextPools, options: ContextOptions): Promise<OpenContext> {
  const { log, secrets, limits = defaultLimits, clock = systemClock } = options
  const base = {
    db: openDb(pools.db, secrets),
    hotDb: openDb(pools.hotDb, secrets),
    keyDb: openDb(pools.keyDb, secrets),
    claimDb: openDb(pools.claimDb, secrets),
    queueDb: openDb(pools.queueDb, secrets),
    heavyDbs: pools.heavyDbs.map((each) => openDb(each, secrets)),
    clock,
    wakes: createWakes(),
    log,
    metrics: createMetrics(),
    secrets,
    limits,
  }
  const serviceClock = await openServiceClock(base, options.serviceClock).catch(async (error: unknown) => {
    await pools.close()
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
    pool: pools.db,
    queuePool: pools.queueDb,
    pools: pools.all,
    setAddress(url) {
      baseUrl ??= url
    },
    listen: () => serviceClock.listen(),
    readTime: () => serviceClock.read(),
    close: (withinMs) => serviceClock.stop().finally(() => pools.close(withinMs)),
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
