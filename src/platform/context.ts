import type { Clock } from './clock.ts'
import type { Db } from './db.ts'
import type { Limits } from './limits.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './prometheus.ts'
import type { Secrets } from './secrets.ts'
import type { ServiceClock } from './service-clock.ts'
import type { Wakes } from './wakes.ts'

/** Dependencies of every use case; built once in app/, passed as the first argument. */
export interface Context {
  readonly db: Db
  /** For reads that every request needs and that are batched (coalesce.ts), on separate connections. */
  readonly hotDb: Db
  /** Does work on many rows by their keys, on its own connections; see openKeyPool(). */
  readonly keyDb: Db
  /** Executes claims, each of them one statement, on its own connections; see openClaimPool(). */
  readonly claimDb: Db
  /** For requests of accounts that use more than their share, on few connections of low priority; see openHeavyPool(). */
  readonly heavyDb: Db
  readonly clock: Clock
  /** For time-outs that must be correct despite outages and changes of the clock. */
  readonly serviceClock: ServiceClock
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

/** Returns the context for requests of accounts that use more than their share. */
export function contextOfHeavy(ctx: Context): Context {
  const db = { value: ctx.heavyDb, enumerable: true }
  // A copy of the values would read the address before it is known.
  return Object.create(Object.prototype, { ...Object.getOwnPropertyDescriptors(ctx), db }) as Context
}
