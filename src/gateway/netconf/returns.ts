import type { JunosFacts } from './facts.ts'

/** A member or node that is restarting. */
export interface AwaitedPart {
  /** The call of its command. */
  readonly callId: number
  /** Of the member or node. */
  readonly number: number
  /** How long it had been up at `sinceMs`; null where it did not say so. */
  readonly uptimeS: number | null
  /** Service time before its restart was requested. */
  readonly sinceMs: number
  /** True once it was seen to be absent. */
  wasAbsent: boolean
}

/** The device gives whole seconds, and its clock may run a little slower than ours. */
const SLACK_S = 5

/**
 * Returns whether the part has restarted. Without a restart it would have been up for as much longer as time has passed;
 * where the device doesn't say for how long its parts have been up, it must have been away.
 * @param askedAtMs Service time before the device was asked for the facts.
 */
export function hasReturned(awaited: AwaitedPart, facts: JunosFacts, askedAtMs: number): boolean {
  const { number, uptimeS: beforeS, sinceMs, wasAbsent } = awaited
  if (!isPresent(number, facts)) return false
  const nowS = facts.partUptimes.get(number)
  if (beforeS === null || nowS === undefined) return wasAbsent
  return nowS + SLACK_S < beforeS + (askedAtMs - sinceMs) / 1000
}

export function isPresent(number: number, { members, nodes }: Pick<JunosFacts, 'members' | 'nodes'>): boolean {
  return (
    members.some((one) => one.member === number && one.isPresent) ||
    nodes.some(({ node, isPresent: isThere }) => node === `node${number}` && isThere)
  )
}
