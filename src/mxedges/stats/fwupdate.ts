import type { FwUpdate } from '../../devices/tables.ts'

/** The progress of the running upgrade that an appliance is part of. */
export type MxedgeFwUpdate = Omit<FwUpdate, 'status' | 'progress'> & {
  readonly status: 'inprogress' | 'scheduled'
  /** Percent of the present step, where the agent reports it. */
  readonly progress?: number
}
