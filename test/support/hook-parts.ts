import type { HookParts } from '../../src/agent/role.ts'
import type { State } from '../../src/agent/state.ts'

/** The parts that hooks need of an agent, without observers. */
export function quietParts(state: State): HookParts {
  return { state, log: () => {}, onPoint: () => {} }
}
