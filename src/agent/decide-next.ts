import type { Ended } from './connection.ts'

/** The agent's next action after a connection has ended. */
export type Next = { readonly kind: 'stop' } | { readonly kind: 'wait'; readonly ms: number }

const FIRST_MS = 1000
const LONGEST_MS = 60_000
/** Another process connects with the same key; without a pause both would replace each other forever. */
const REPLACED_MS = 300_000

const UNREGISTERED = 4001
const REPLACED = 4409

/**
 * Decides by the close code and by the number of failed connections in a row.
 * @param random From 0 to 1: after an outage, agents must not come back at the same time.
 */
export function decideNext(code: number, failures: number, random: number): Next {
  if (code === UNREGISTERED) return { kind: 'stop' }
  if (code === REPLACED) return { kind: 'wait', ms: REPLACED_MS * (1 + random) }
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 16))
  return { kind: 'wait', ms: longest / 2 + (random * longest) / 2 }
}

/** @returns How many connections in a row have failed. One that the agent itself has to end would only fail again at once. */
export function countFailures(
  failures: number,
  { wasWelcome, hasFailed }: Pick<Ended, 'wasWelcome' | 'hasFailed'>,
): number {
  return wasWelcome && !hasFailed ? 0 : failures + 1
}
