import type { Turn } from '../delivery/admission.ts'
import type { DeliveryOrder } from '../delivery-options.ts'
import { type Ordered, createMessageOrder } from './message-order.ts'
import type { DueMessage } from '../delivery/store.ts'

/**
 * Receives the end of a message that was accepted before it was in the database: its result is written; it was not started
 * and has to be routed; or it may have been sent and has to be routed, with the same id.
 */
export type EndOfUnrouted = (end: 'written' | 'unsent' | 'returned') => void

export interface WaitingMessage extends Ordered {
  readonly message: DueMessage
  /** Null for a message in the database. */
  readonly onEnd: EndOfUnrouted | null
}

/** The messages of a held lane that have not been started, in memory. */
export interface WaitingMessages {
  count(): number
  /** @returns False if there is no room for the message. */
  add(message: DueMessage, onEnd?: EndOfUnrouted): boolean
  /** Returns the first message that may start; undefined if none may. */
  next(): WaitingMessage | undefined
  /** Removes a message that is started now. Its bytes still count for the turn. */
  start(waiting: WaitingMessage): void
  /**
   * Must be called when a started message has ended.
   * @param isOver False if another attempt of the message follows; then messages that must wait for it are dropped.
   * @returns False if messages were dropped.
   */
  end(message: DueMessage, isOver: boolean): boolean
  /** Drops all but the first messages. @returns False if there were more. */
  keepFirst(count: number): boolean
  /** Removes the messages that are not in the database. */
  returnUnrouted(): void
}

/** Limits the messages that wait in memory; others stay in the database. */
const MAX_WAITING = 64

/** @param first Messages whose bytes count for the turn already. */
export function createWaitingMessages(
  turn: Pick<Turn, 'add' | 'subtract'>,
  { order, first }: { readonly order: DeliveryOrder | null; readonly first: readonly DueMessage[] },
): WaitingMessages {
  const queue = createMessageOrder(order)
  let waiting = first.map((message) => waitingOf(message, null))
  let unrouted = 0

  function keep(isKept: (each: WaitingMessage, place: number) => boolean): boolean {
    const dropped = waiting.filter((each, place) => !isKept(each, place))
    if (dropped.length === 0) return true
    waiting = waiting.filter(isKept)
    for (const { message } of dropped) turn.subtract(message.body.length)
    unrouted -= dropped.filter(({ onEnd }) => onEnd !== null).length
    for (const { onEnd } of dropped) onEnd?.('unsent')
    return false
  }

  return {
    count: () => waiting.length,
    add(message, onEnd) {
      if (waiting.length >= MAX_WAITING || !turn.add(message.body.length)) return false
      waiting.push(waitingOf(message, onEnd ?? null))
      if (onEnd !== undefined) unrouted += 1
      return true
    },
    next: () => waiting[queue.indexOfNext(waiting)],
    start(started) {
      waiting.splice(waiting.indexOf(started), 1)
      if (started.onEnd !== null) unrouted -= 1
      queue.start(started)
    },
    end(message, isOver) {
      queue.end(message, isOver)
      return isOver || keep((each) => !queue.mustWait(each))
    },
    keepFirst: (count) => keep((_, place) => place < count),
    returnUnrouted() {
      if (unrouted > 0) keep(({ onEnd }) => onEnd === null)
    },
  }
}

function waitingOf(message: DueMessage, onEnd: EndOfUnrouted | null): WaitingMessage {
  return { message, onEnd, orderKey: message.orderKey }
}
