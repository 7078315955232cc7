import { MAX_MESSAGE_EVENTS } from './plan-messages.ts'

/** A queue with more events is a backlog, whose events wait for each other rather than for those of other queues. */
const MAX_SHORT = 10

/**
 * Plans how many events of each queue a round takes, given how many wait: each queue has an equal share of the round. Queues
 * that have more than a share which fills no message take turns instead: some of them get as many as fill a message.
 */
export function planPortions(
  waiting: readonly number[],
  { limit, turn }: { readonly limit: number; readonly turn: number },
): number[] {
  const share = Math.ceil(limit / Math.max(waiting.filter((count) => count > 0).length, 1))
  if (share >= MAX_MESSAGE_EVENTS) return waiting.map((count) => Math.min(count, share))
  const queues = waiting.filter((count) => count > share).length
  const filled = Math.max(Math.floor((queues * share) / MAX_MESSAGE_EVENTS), 1)
  let number = 0
  return waiting.map((count) => {
    if (count <= share) return count
    const isFilled = (number + queues - ((turn * filled) % queues)) % queues < filled
    number += 1
    return isFilled ? Math.min(count, MAX_MESSAGE_EVENTS) : 0
  })
}

/**
 * Plans a round of the queues that have few events, beside others with a backlog: such a round is short. Null if there are none,
 * or no backlog, or they have as many events as a usual round.
 */
export function planShort(waiting: readonly number[], limit: number): number[] | null {
  const portions = waiting.map((count) => (count <= MAX_SHORT ? count : 0))
  const sum = portions.reduce((all, count) => all + count, 0)
  return sum === 0 || portions.every((count) => count > 0) || sum > limit / 2 ? null : portions
}
