import type { Turn } from '../../delivery/admission/admission.ts'
import type { DeliveryOrder } from '../../delivery-options.ts'
import { type Ordered, createMessageOrder } from './message-order.ts'
import type { DueMessage } from '../../delivery/store-due.ts'
import { MAX_IN_MEMORY } from '../../limits/limits.ts'

/**
 * Receives the end of a message that was accepted before it was in the database: its result is written, or the message itself
 * is; it was not started and has to be routed; or it may have been sent and has to be routed, with the same id.
 */
export type EndOfUnrouted = (end: 'written' | 'unsent' | 'returned') => void

/** How a message is accepted that is not in the database. */
export interface Acceptance {
  readonly onEnd: EndOfUnrouted
  /** True for an event of a backlog, which may wait behind more messages than an event that was just committed. */
  readonly isOfBacklog: boolean
}

/** Facts about a message that is not in the database. */
export interface Unrouted extends Acceptance {
  readonly acceptedAt: Date
}

export interface WaitingMessage extends Ordered {
  readonly message: DueMessage
  /** Null for a message in the database. */
  readonly unrouted: Unrouted | null
  readonly addedMs: number
}

/** The messages of a held lane that have not been started, in memory. */
export interface WaitingMessages {
  count(): number
  /** The bytes of their bodies. */
  bytes(): number
  /** @returns False if there is no room for the message. */
  add(message: DueMessage, unrouted?: Unrouted): boolean
  /** How many more events of a backlog it may add; null if the first message has waited for so long that the lane does not keep up. */
  room(): number | null
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
  /** Removes the messages that are not in the database, and returns them in their order. */
  takeUnrouted(): { readonly message: DueMessage; readonly unrouted: Unrouted }[]
}

/** An event that is not in the database as a message is accepted only behind fewer of them, because a crash delays it. */
const MAX_BEFORE_UNROUTED = 64
/** Events of a backlog are routed if a message of their lane waits for longer, so that the lane counts them. */
const MAX_WAIT_MS = 5000

interface WaitingOptions {
  readonly order: DeliveryOrder | null
  /** Messages whose bytes count for the turn already. */
  readonly first: readonly DueMessage[]
  readonly nowMs?: () => number
}

export function createWaitingMessages(
  turn: Pick<Turn, 'add' | 'subtract'>,
  { order, first, nowMs = () => performance.now() }: WaitingOptions,
): WaitingMessages {
  const queue = createMessageOrder(order)
  let waiting = first.map((message) => waitingOf(message, null))

  function waitingOf(message: DueMessage, of: Unrouted | null): WaitingMessage {
    return { message, unrouted: of, orderKey: message.orderKey, addedMs: nowMs() }
  }

  function remove(isKept: (each: WaitingMessage, place: number) => boolean): WaitingMessage[] {
    const dropped = waiting.filter((each, place) => !isKept(each, place))
    if (dropped.length === 0) return []
    waiting = waiting.filter(isKept)
    for (const { message } of dropped) turn.subtract(message.body.length)
    return dropped
  }

  function keep(isKept: (each: WaitingMessage, place: number) => boolean): boolean {
    const dropped = remove(isKept)
    for (const each of dropped) each.unrouted?.onEnd('unsent')
    return dropped.length === 0
  }

  return {
    count: () => waiting.length,
    bytes: () => waiting.reduce((sum, { message }) => sum + message.body.length, 0),
    add(message, isUnrouted) {
      const max = isUnrouted?.isOfBacklog === false ? MAX_BEFORE_UNROUTED : MAX_IN_MEMORY
      if (waiting.length >= max || !turn.add(message.body.length)) return false
      waiting.push(waitingOf(message, isUnrouted ?? null))
      return true
    },
    room() {
      const [next] = waiting
      if (next !== undefined && nowMs() - next.addedMs > MAX_WAIT_MS) return null
      return MAX_IN_MEMORY - waiting.length
    },
    next: () => waiting[queue.indexOfNext(waiting)],
    start(started) {
      waiting.splice(waiting.indexOf(started), 1)
      queue.start(started)
    },
    end(message, isOver) {
      queue.end(message, isOver)
      return isOver || keep((each) => !queue.mustWait(each))
    },
    keepFirst: (count) => keep((_, place) => place < count),
    takeUnrouted() {
      const taken = remove((each) => each.unrouted === null)
      return taken.flatMap(({ message, unrouted: of }) => (of === null ? [] : [{ message, unrouted: of }]))
    },
  }
}
