import type { PhaseOf } from '../rollout.ts'

/** The members of events, records and checks that name their phase. */
export function presentPhase({ phase, of }: PhaseOf): { readonly phase: number; readonly phase_of?: 'downloads' } {
  return of === undefined ? { phase } : { phase, phase_of: of }
}
