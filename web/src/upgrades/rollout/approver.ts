import { counted } from '../../display/texts/counted.ts'
import type { Report } from '../upgrade.ts'
import { type State, heldPhaseOf, isBeforeStart } from './verdict.ts'

type Source = Pick<Report, 'decisions' | 'phases' | 'downloads' | 'start_gate'>

/**
 * Returns in a sentence why a person can't give the approval that an upgrade waits for, and who is needed; null if that person may
 * give it, or if it waits for no approval. The server decides by the same facts.
 */
export function barOf(
  { report, hold }: Pick<State, 'hold'> & { readonly report: Source },
  adminId: string | undefined,
): string | null {
  if (hold?.by !== 'approval' || adminId === undefined) return null
  const { phases, phase } = heldPhaseOf(report, hold)
  const gate = isBeforeStart(hold) ? report.start_gate : phases.find((one) => one.phase === phase)?.gate
  const missing = hold.approvals_missing ?? 1
  const isGiven = gate?.approved_by?.some(({ admin_id: id }) => id === adminId) ?? false
  if (isGiven)
    return `You have approved it. ${counted(missing, 'other person has', 'other people have')} yet to approve it.`
  const creator = report.decisions.find(({ type }) => type === 'UPGRADE_CREATED')?.admin_id
  if (gate?.prevent_self_approval !== true || creator !== adminId) return null
  return `You created this upgrade, so ${missing === 1 ? 'another person approves' : `${missing} other people approve`} it.`
}
