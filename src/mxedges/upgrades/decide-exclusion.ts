import type { StepCommand } from './target.ts'
import { type MxedgeTargetState, isTerminal, waitingStates } from './upgrade.ts'

const waiting: ReadonlySet<MxedgeTargetState> = new Set(waitingStates)
/** The appliance has not got the command, and never will. */
const unsent: ReadonlySet<StepCommand['state'] | null> = new Set(['expired', 'cancelled'])

interface Commanded {
  readonly state: MxedgeTargetState
  /** Of the latest command; null: there is none. */
  readonly commandState: StepCommand['state'] | null
}

/**
 * Returns why an appliance can't be excluded from its upgrade; null: it can, because it is not about to install, as when the
 * upgrade is cancelled. Its queued command was withdrawn.
 */
export function findExclusionRefusal({ state, commandState }: Commanded): string | null {
  if (isTerminal(state)) return 'has ended in this upgrade'
  if (waiting.has(state) || (state === 'commanded' && unsent.has(commandState))) return null
  return 'is installing'
}
