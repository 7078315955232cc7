import type { CommandLine } from '../../src/agent/hooks/run-hook.ts'
import type { HookParts } from '../../src/agent/role.ts'
import type { State } from '../../src/agent/state.ts'

/** The parts that hooks need of an agent, without observers. */
export function quietParts(state: State): HookParts {
  return { state, log: () => {}, onPoint: () => {} }
}

/** A command that runs a line of JavaScript. */
export function js(code: string): CommandLine {
  return [process.execPath, '-e', code]
}
