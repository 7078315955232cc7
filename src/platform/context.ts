import type { Clock } from './clock.ts'
import type { Db } from './db.ts'
import type { Logger } from './log.ts'
import type { Secrets } from './secrets.ts'
import type { ServiceClock } from './service-clock.ts'
import type { Wakes } from './wakes.ts'

/** What every use case may need; built once in app/, passed as the first argument. */
export interface Context {
  readonly db: Db
  /** For reads that come with every request and join in batches (coalesce.ts), on connections of their own. */
  readonly hotDb: Db
  readonly clock: Clock
  /** For time-outs that must survive outages and steps of the clock. */
  readonly serviceClock: ServiceClock
  readonly wakes: Wakes
  readonly log: Logger
  readonly secrets: Secrets
  /** Where clients and devices reach the HTTP server, without a trailing slash. */
  readonly baseUrl: string
}
