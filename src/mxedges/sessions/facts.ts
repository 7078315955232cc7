import type { MachineStats } from './machine.ts'

/** A service of an edge appliance, as its agent reports it. */
export interface MxedgeService {
  readonly name: string
  /** Null: not installed. */
  readonly version: string | null
  readonly state: 'running' | 'stopped' | 'failed'
}

/** The facts that an agent sends when it connects; stored as a document. */
export interface MxedgeFacts {
  readonly agent: string
  /** Changes with every boot of the machine. */
  readonly boot_id: string
  readonly model: string | null
  readonly serial: string | null
  /** The codename of its Linux distribution. */
  readonly distro: string | null
  /** The commands that it can execute: names of methods. */
  readonly methods: readonly string[]
  /** The SHA-256 of the configuration that it has applied; null: none. */
  readonly config_sha256: string | null
  readonly ext_ip: string | null
  /**
   * The unfinished commands at the time of the connect, and those whose answers may have been lost. Absent: the agent
   * does not report them.
   */
  readonly commands?: readonly string[]
}

/** The report that an agent sends when it connects and at intervals; stored as a document. */
export interface MxedgeReport {
  readonly uptime_s: number
  readonly services: readonly MxedgeService[]
  /** Percent of all processors. */
  readonly cpu_percent: number | null
  readonly memory: { readonly total: number; readonly free: number } | null
  readonly disk: { readonly total: number; readonly free: number } | null
  readonly addresses: readonly string[]
  /** Absent: the agent is of an earlier version. */
  readonly machine?: MachineStats
}

/** An agent's report at intervals, with a fact that may have changed since it connected. */
export interface ReportedMxedge {
  readonly report: MxedgeReport
  /** Absent: as before. */
  readonly distro?: string | null
}
