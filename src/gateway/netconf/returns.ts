import type { JunosFacts } from './facts.ts'

/** A member or node that is restarting. */
export interface AwaitedPart {
  /** The call of its command. */
  readonly callId: number
  /** The number of the member or node. */
  readonly number: number
  /** Its uptime at `sinceMs`; null if the device did not report it. */
  readonly uptimeS: number | null
  /** Service time before its restart was requested. */
  readonly sinceMs: number
  /** True once it was seen to be absent. */
  wasAbsent: boolean
}

/** The device gives whole seconds, and its clock may run a little slower than ours. */
const SLACK_S = 5

/**
 * True if the part has restarted. Without a restart its uptime would have grown by the elapsed time; if the device
 * doesn't report the uptimes of its parts, the part must have been absent.
 * @param askedAtMs Service time before the device was queried for the facts.
 */
export function hasReturned(awaited: AwaitedPart, facts: JunosFacts, askedAtMs: number): boolean {
  const { number, uptimeS: beforeS, sinceMs, wasAbsent } = awaited
  if (!isPresent(number, facts)) return false
  const nowS = facts.partUptimes.get(number)
  if (beforeS === null || nowS === undefined) return wasAbsent
  return nowS + SLACK_S < beforeS + (askedAtMs - sinceMs) / 1000
}

/**
 * Returns for how long the device has been up as a whole: since the boot of the part that has been up for the longest,
 * also when that part has left or restarted and another one has continued.
 * @param elapsedS Service time between the two looks at the device.
 */
export function continuedUptimeS(
  before: Pick<JunosFacts, 'uptimeS' | 'partUptimes'>,
  after: Pick<JunosFacts, 'uptimeS' | 'partUptimes'>,
  elapsedS: number,
): number | null {
  if (before.uptimeS === null || after.uptimeS === null || after.uptimeS >= before.uptimeS) return after.uptimeS
  const hasContinued = [...after.partUptimes].some(
    ([part, uptimeS]) => uptimeS >= (before.partUptimes.get(part) ?? Infinity),
  )
  return hasContinued ? before.uptimeS + Math.floor(elapsedS) : after.uptimeS
}

export function isPresent(number: number, { members, nodes }: Pick<JunosFacts, 'members' | 'nodes'>): boolean {
  return (
    members.some((one) => one.member === number && one.isPresent) ||
    nodes.some(({ node, isPresent: isThere }) => node === `node${number}` && isThere)
  )
}
