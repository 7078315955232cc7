import type { PartLimits } from '../platform/database/split.ts'

export interface Limits {
  /** The interval at which links are checked and queued commands are searched for. */
  readonly tickMs: number
  /** The interval at which the gateway sweeps the database: leases, lost devices, expired commands. */
  readonly sweepMs: number
  /** The number of connections, reports or commands that one transaction writes. */
  readonly batchSize: number
}

/** A batch of small items, so only their count is limited. */
export function batchOf(count: number): PartLimits {
  return { count, bytes: Infinity }
}

/** A statement about many links; commands wait while it is encoded. */
export const linksOfStatement = batchOf(500)

export const defaultLimits: Limits = { tickMs: 1000, sweepMs: 5000, batchSize: 200 }
