export interface Limits {
  /** How often links are checked and queued commands are looked for. */
  readonly tickMs: number
  /** How often the gateway sweeps the database: leases, lost devices, expired commands. */
  readonly sweepMs: number
  /** How many connections, reports or commands one transaction writes. */
  readonly batchSize: number
}

export const defaultLimits: Limits = { tickMs: 1000, sweepMs: 5000, batchSize: 200 }
