import type { SpacingLimits } from '../platform/spacing.ts'
import type { PartLimits } from '../platform/split.ts'

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

/** The distance of the transactions that record connections, reports and outcomes of many devices. */
export const spacing: SpacingLimits = { ms: 50, arrivalsPerS: 80 }

/** A statement about many links; commands wait while it is encoded. */
export const linksOfStatement = batchOf(500)

export const defaultLimits: Limits = { tickMs: 1000, sweepMs: 5000, batchSize: 200 }
