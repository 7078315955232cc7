import type { PartLimits } from '../platform/split.ts'

export interface Limits {
  /** How often links are checked and queued commands are looked for. */
  readonly tickMs: number
  /** How often the gateway sweeps the database: leases, lost devices, expired commands. */
  readonly sweepMs: number
  /** How many connections, reports or commands one transaction writes. */
  readonly batchSize: number
}

/** A batch of small items, so only their count is limited. */
export function batchOf(count: number): PartLimits {
  return { count, bytes: Infinity }
}

export const defaultLimits: Limits = { tickMs: 1000, sweepMs: 5000, batchSize: 200 }
