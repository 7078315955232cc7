import type { PartLimits } from '../../platform/database/split.ts'

/** The record of a delivery whose message may be sent again. */
export interface DeliveredMessage {
  readonly deliveryId: string
  readonly messageId: string
  readonly deliveredAt: Date
  /** The length of the body in bytes. */
  readonly length: number
}

export interface DeliveredPlan {
  /** Each once, in the order in which they were first delivered. */
  readonly messages: readonly DeliveredMessage[]
  /** The time of the first deliveries that are left for another request; null if none are. */
  readonly nextStart: Date | null
}

/**
 * Plans which delivered messages a request sends again. It never divides the deliveries of one instant, so that the next
 * request can start with the following instant; only an instant that exceeds the limits by itself is planned as a whole.
 *
 * @param found By time. More than `limits.count` show that others are left.
 */
export function planDelivered(found: readonly DeliveredMessage[], limits: PartLimits): DeliveredPlan {
  const instants = [...Map.groupBy(found, ({ deliveredAt }) => deliveredAt.getTime()).values()]
  const messages = new Map<string, DeliveredMessage>()
  let [count, bytes] = [0, 0]
  for (const instant of instants) {
    count += instant.length
    bytes += instant.reduce((sum, { length }) => sum + length, 0)
    const isOver = count > limits.count || bytes > limits.bytes
    if (isOver && messages.size > 0)
      return { messages: [...messages.values()], nextStart: instant[0]?.deliveredAt ?? null }
    for (const message of instant) if (!messages.has(message.messageId)) messages.set(message.messageId, message)
  }
  return { messages: [...messages.values()], nextStart: null }
}
