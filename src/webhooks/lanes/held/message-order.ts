import type { DeliveryOrder } from '../../delivery-options.ts'

/** The facts that determine the order of a message. */
export interface Ordered {
  /** The device of its events, for webhooks that get those of each device in order. */
  readonly orderKey: string | null
}

/** Decides which messages of an open lane may start, so that none starts before an earlier one of its key has ended. */
export interface MessageOrder {
  /** Returns the place of the first message that may start; -1 if none may. */
  indexOfNext(waiting: readonly Ordered[]): number
  start(message: Ordered): void
  /** @param isOver False if another attempt of the message follows. */
  end(message: Ordered, isOver: boolean): void
  /** True if the message has to wait for one that is tried again later, and so for another turn of the lane. */
  mustWait(message: Ordered): boolean
}

export function createMessageOrder(order: DeliveryOrder | null): MessageOrder {
  const inFlight = new Set<string>()
  const failed = new Set<string>()

  function keyOf({ orderKey }: Ordered): string | null {
    if (order === null) return null
    return order === 'webhook' ? '' : orderKey
  }

  function isFree(message: Ordered): boolean {
    const key = keyOf(message)
    return key === null || (!inFlight.has(key) && !failed.has(key))
  }

  return {
    indexOfNext: (waiting) => waiting.findIndex(isFree),
    start(message) {
      const key = keyOf(message)
      if (key !== null) inFlight.add(key)
    },
    end(message, isOver) {
      const key = keyOf(message)
      if (key === null) return
      inFlight.delete(key)
      if (!isOver) failed.add(key)
    },
    mustWait(message) {
      const key = keyOf(message)
      return key !== null && failed.has(key)
    },
  }
}
