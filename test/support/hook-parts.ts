import type { HookParts } from '../../src/agent/role.ts'
import type { State } from '../../src/agent/state.ts'

/** What hooks need of an agent that nobody watches. */
export function quietParts(state: State): HookParts {
  return { state, log: () => {}, onPoint: () => {} }
}
