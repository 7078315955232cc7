import type { PhaseOf } from './rollout.ts'

/** The members of events, records and questions that say which phase they are about. */
export function presentPhase({ phase, of }: PhaseOf): { readonly phase: number; readonly phase_of?: 'downloads' } {
  return of === undefined ? { phase } : { phase, phase_of: of }
}
