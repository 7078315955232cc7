import type { DirectDelivery } from '../delivery/direct-delivery.ts'
import { queueOf } from './known/known-events.ts'
import type { RoomOf } from './known/known-queues.ts'
import { MAX_EVENT_BYTES, type Subscriber, type WaitingEvent, type WaitingQueue } from './planning/plan-round.ts'

/** Passes the events of a backlog from the outbox to the lanes of their webhooks, so that they need no messages. */
export interface PassBacklog {
  /**
   * Passes the first events of each queue to their lane, while this has room. Behind an event that a lane does not accept, all
   * events of its queue have to be routed; behind one that it has no room for, they wait.
   */
  pass(waiting: readonly WaitingQueue[]): PassedOn
  roomOf: RoomOf
  /** True if events of a queue wait for room in their lane, and need not be routed. */
  isPassing(queue: string): boolean
  /**
   * Must be called at the end of each round.
   * @param isLeft True if the round has left events of the queue.
   */
  endRound(isLeft: (queue: string) => boolean): void
}

export interface PassedOn {
  /** What has to be routed. */
  readonly left: readonly WaitingQueue[]
  readonly passedIds: readonly string[]
}

interface PassBacklogOptions {
  readonly direct: Pick<DirectDelivery, 'roomForBacklog' | 'awaitRoom'>
  /** Passes an event to the lane of a webhook. @returns False if the lane does not have it. */
  readonly send: (event: WaitingEvent & { readonly json: string }, webhookId: string) => boolean
  /** Called when a lane has room again. */
  readonly onRoom: () => void
  readonly nowMs?: () => number
}

/** A queue that has more events than were passed on. */
interface Backlog {
  readonly webhookId: string
  readonly sinceMs: number
}

/** A lane with less room gets no events of a backlog, because few events are not worth a look-up. */
const MIN_ROOM = 64
/** A lane gets more when it has as much room, before it has sent all that waits in it. */
const ENOUGH_ROOM = 192
/** Events that are left of a backlog after this time are routed, so that they count as waiting messages of their webhook. */
const MAX_BACKLOG_MS = 15_000

export function createPassBacklog({
  direct,
  send,
  onRoom,
  nowMs = () => performance.now(),
}: PassBacklogOptions): PassBacklog {
  const backlogs = new Map<string, Backlog>()
  /** How many of them each webhook has: they share the room of its lane. */
  const sharing = new Map<string, number>()

  const roomFor = ({ webhookId, sinceMs }: Backlog): number | null =>
    nowMs() - sinceMs > MAX_BACKLOG_MS ? null : direct.roomForBacklog(webhookId)

  const awaitRoom = (webhookId: string): void => direct.awaitRoom(webhookId, ENOUGH_ROOM, onRoom)

  function backlogOf(queue: string, webhookId: string): Backlog {
    const known = backlogs.get(queue)
    if (known?.webhookId === webhookId) return known
    remove(queue)
    const backlog = { webhookId, sinceMs: nowMs() }
    backlogs.set(queue, backlog)
    sharing.set(webhookId, (sharing.get(webhookId) ?? 0) + 1)
    return backlog
  }

  function remove(queue: string): void {
    const webhookId = backlogs.get(queue)?.webhookId
    if (webhookId === undefined) return
    backlogs.delete(queue)
    const others = (sharing.get(webhookId) ?? 0) - 1
    if (others > 0) sharing.set(webhookId, others)
    else sharing.delete(webhookId)
  }

  /** @returns How many events were passed on, and whether the others may wait. */
  function passFirst({ events, subscribers }: WaitingQueue): { readonly count: number; readonly mayWait: boolean } {
    for (const [count, event] of events.entries()) {
      const { json } = event
      const recipient = onlyRecipientOf(event, subscribers)
      const room = recipient === null ? null : roomFor(backlogOf(queueOf(event), recipient.id))
      if (recipient === null || room === null || json === null) return { count, mayWait: false }
      if (room === 0) {
        awaitRoom(recipient.id)
        return { count, mayWait: true }
      }
      if (!send(Object.assign(event, { json }), recipient.id)) return { count, mayWait: false }
    }
    return { count: events.length, mayWait: true }
  }

  return {
    pass(queues) {
      const passedIds: string[] = []
      const left = queues.flatMap((queue) => {
        const { count, mayWait } = passFirst(queue)
        for (const { id } of queue.events.slice(0, count)) passedIds.push(id)
        return mayWait ? [] : [{ ...queue, events: queue.events.slice(count) }]
      })
      return { left, passedIds }
    },
    roomOf(queue) {
      const backlog = backlogs.get(queue)
      const room = backlog === undefined ? null : roomFor(backlog)
      if (backlog === undefined || room === null) return Infinity
      if (room >= MIN_ROOM) return Math.ceil(room / (sharing.get(backlog.webhookId) ?? 1))
      awaitRoom(backlog.webhookId)
      return 0
    },
    isPassing(queue) {
      const backlog = backlogs.get(queue)
      return backlog !== undefined && roomFor(backlog) !== null
    },
    endRound(isLeft) {
      for (const queue of backlogs.keys()) if (!isLeft(queue)) remove(queue)
    },
  }
}

/**
 * Returns the webhook that gets an event in a message of its own, if no other one gets events of its queue: they would wait while
 * its lane has no room. Returns null otherwise, and if its filter or the device of the event matters.
 */
export function onlyRecipientOf(
  event: Omit<WaitingEvent, 'sentTo'>,
  [recipient, ...others]: readonly Subscriber[],
): Subscriber | null {
  if (event.routedTo !== null || event.bytes > MAX_EVENT_BYTES) return null
  if (recipient === undefined || others.length > 0) return null
  if (recipient.siteId !== null && recipient.siteId !== event.siteId) return null
  return recipient.singleEvent && recipient.filter === null && !recipient.byDevice ? recipient : null
}
