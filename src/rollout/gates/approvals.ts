import type { PhaseApproval, PhaseOf } from '../rollout.ts'

/** Lists the phases of one kind that people have approved, once for each of the people. */
export function listApproved(approvals: readonly PhaseApproval[], kind: PhaseOf['of']): number[] {
  return approvals.flatMap(({ phase, of, by }) => (by === 'approval' && of === kind ? [phase] : []))
}

/** Lists the phases of one kind after which people have opened the next one before its instant. */
export function listHurried(approvals: readonly PhaseApproval[], kind: PhaseOf['of']): number[] {
  return approvals.flatMap(({ phase, of, early }) => (early === true && of === kind ? [phase] : []))
}
