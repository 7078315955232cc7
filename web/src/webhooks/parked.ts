import { counted, grouped } from '../display/texts/counted.ts'

/** One call of the API sends at most so many undelivered messages again, and the health of a webhook counts no further. */
const MOST = 10_000

/** Returns the number of undelivered messages, as far as the health of a webhook knows it. */
export function parkedText(parked: number): string {
  return parked < MOST ? grouped(parked) : `at least ${grouped(MOST)}`
}

/** Returns what it means to send all undelivered messages again. */
export function replayEffect(total: number, isEnabled: boolean): string {
  const sent = total > MOST ? `up to ${grouped(MOST)} of ${counted(total, 'message')}` : counted(total, 'message')
  const waits = isEnabled ? '' : ' They wait until the webhook is enabled.'
  return `Sends ${sent} again, the oldest first, with the same ids and bytes.${waits}`
}

/** Returns what was done. @param left The number of messages that the call has left: beyond 10,000, 80 MiB, or what may wait. */
export function replayedText(replayed: number, left: number, isEnabled: boolean): string {
  const waits = isEnabled ? '' : ' until the webhook is enabled'
  const rest = left === 0 ? '' : ` ${counted(left, 'message is', 'messages are')} left: send them next.`
  return `${counted(replayed, 'message waits', 'messages wait')} to be sent again${waits}.${rest}`
}
