import type { Generated } from 'kysely'

/** One row: see service-clock.ts. */
export interface ServiceClockTable {
  id: Generated<boolean>
  ms: number
}
