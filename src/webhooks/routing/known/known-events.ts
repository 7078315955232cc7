import type { QueuedEvent } from '../../../events/store.ts'
import { createDroppedQueues } from './dropped-queues.ts'
import { type RoomOf, type RoundIds, createKnownQueues } from './known-queues.ts'

/** The events that commits have announced and that the router has not routed yet. */
export interface KnownEvents {
  /** Adds events for the next round. The queue is known of those in `events` only; a search must follow for others. */
  announce(ids: Iterable<string>, events: readonly AnnouncedEvent[]): void
  /** True if events wait for the next round. */
  hasAnnounced(): boolean
  /** Makes the announced events known, at the start of a round. If there are too many, all are dropped. */
  accept(): void
  /** True if events were dropped after the last search began, so that only another one finds them. */
  hasDropped(): boolean
  ids(): string[]
  /** The number of `ids`. */
  size(): number
  /** Returns the ids for a round: all, or about `limit`, and of each queue the oldest. */
  idsOfRound(round: RoundIds): string[]
  /** Returns the ids for a round without the backlogs of other queues; null if that is no shorter. */
  shortIdsOfRound(limit: number, roomOf?: RoomOf): string[] | null
  delete(ids: Iterable<string>): void
  /** True if an earlier event of the queue may wait to be routed. */
  isWaiting(queue: string): boolean
  /** The same without the events that wait for the next round. */
  isRouting(queue: string): boolean
  /** The events that wait for the next round, with their queues, in the order of their commits. */
  announced(): Iterable<readonly [id: string, queue: string | null]>
  /** Removes an event that waits for the next round. May be called for each one that `announced` yields. */
  withdraw(id: string): void
  has(id: string): boolean
  /** A search that begins now will find all events that were dropped so far. */
  beginSearch(): void
  /** @param isComplete True if the search has left no event that is ripe. */
  endSearch(isComplete: boolean): void
}

export type AnnouncedEvent = Pick<QueuedEvent, 'id' | 'orgId' | 'topic'>

/** Identifies the queue of an event. */
export function queueOf({ orgId, topic }: Pick<QueuedEvent, 'orgId' | 'topic'>): string {
  return `${orgId} ${topic}`
}

/** @param maxEvents Limits the announced events, and those that are known. */
export function createKnownEvents(maxEvents: number): KnownEvents {
  /** The queues of events by their ids; null if unknown. */
  const announced = new Map<string, string | null>()
  const known = createKnownQueues()
  /** The number of events, announced or known, of each queue. */
  const counts = new Map<string, number>()
  const dropped = createDroppedQueues()

  function count(queue: string | null | undefined, change: 1 | -1): void {
    if (queue === null || queue === undefined) return
    const number = (counts.get(queue) ?? 0) + change
    if (number > 0) counts.set(queue, number)
    else counts.delete(queue)
  }

  function noteDropped(queues: Iterable<string | null>): void {
    for (const queue of queues) {
      count(queue, -1)
      dropped.add(queue)
    }
  }

  return {
    announce(ids, events) {
      const queues = new Map(events.map((event) => [event.id, queueOf(event)]))
      for (const id of ids) {
        if (announced.has(id) || known.has(id)) continue
        // A round may take long, for instance a search of a large outbox.
        if (announced.size >= maxEvents) {
          noteDropped(announced.values())
          announced.clear()
        }
        const queue = queues.get(id) ?? null
        announced.set(id, queue)
        count(queue, 1)
      }
    },
    hasAnnounced: () => announced.size > 0,
    accept() {
      for (const [id, queue] of announced) known.add(id, queue)
      announced.clear()
      if (!dropped.hasNew() && known.size() <= maxEvents) return
      noteDropped(known.queues())
      known.clear()
    },
    hasDropped: dropped.hasNew,
    ids: known.ids,
    size: known.size,
    idsOfRound: known.idsOfRound,
    shortIdsOfRound: known.shortIdsOfRound,
    delete(ids) {
      for (const id of ids) count(known.delete(id), -1)
    },
    isWaiting: (queue) => counts.has(queue) || dropped.has(queue),
    isRouting: (queue) => known.hasQueue(queue) || dropped.has(queue),
    announced: () => announced,
    withdraw(id) {
      count(announced.get(id), -1)
      announced.delete(id)
    },
    has: (id) => known.has(id) || announced.has(id),
    beginSearch: dropped.beginSearch,
    endSearch: dropped.endSearch,
  }
}
