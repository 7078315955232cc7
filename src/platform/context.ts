import type { Clock } from './time/clock.ts'
import type { Crowding } from './queues/crowding.ts'
import type { Db } from './database/db.ts'
import type { Limits } from './limits.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './process/prometheus.ts'
import type { Secrets } from './secrets.ts'
import type { ServiceClock } from './time/service-clock.ts'
import type { Wakes } from './database/wakes.ts'

/** Dependencies of every use case; built once in app/, passed as the first argument. */
export interface Context {
  readonly db: Db
  /** For reads that every request needs and that are batched (coalesce.ts), on separate connections. */
  readonly hotDb: Db
  /** Does work on many rows by their keys, on its own connections; see openKeyPool(). */
  readonly keyDb: Db
  /** Executes claims, each of them one statement, on its own connections; see openClaimPool(). */
  readonly claimDb: Db
  /** Finds rows of queues by their ids, on its own connections; see openQueuePool(). */
  readonly queueDb: Db
  /**
   * For reads, and some changes, of accounts that use more than their share: each has one connection of low priority; see
   * openHeavyPool().
   */
  readonly heavyDbs: readonly Db[]
  readonly clock: Clock
  /** For time-outs that must be correct despite outages and changes of the clock. */
  readonly serviceClock: ServiceClock
  readonly crowding: Crowding
  readonly wakes: Wakes
  readonly log: Logger
  /** The counters of this process. */
  readonly metrics: Metrics
  readonly secrets: Secrets
  /** Set by the operator. */
  readonly limits: Limits
  /** Address at which clients and devices reach the HTTP server, without a trailing slash. */
  readonly baseUrl: string
}

/** Returns a context that differs in the connections for usual work only. */
export function contextWith(ctx: Context, value: Db): Context {
  const db = { value, enumerable: true }
  // A copy of the values would read the address before it is known.
  return Object.create(Object.prototype, { ...Object.getOwnPropertyDescriptors(ctx), db }) as Context
}
