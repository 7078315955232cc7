import type { QueuedEvent } from '../../../events/store.ts'
import { planPortions, planShort } from '../planning/plan-portions.ts'
import { createDroppedQueues } from './dropped-queues.ts'
import { type OrderedIds, createOrderedIds } from './ordered-ids.ts'

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

export interface RoundIds {
  readonly limit: number
  readonly turn: number
  /** The ids of the round before it, which is under way. Default: none is. */
  readonly after?: readonly string[]
  /** Default: any number. */
  readonly roomOf?: RoomOf | undefined
}

/** How many events of a queue a round may have. */
export type RoomOf = (queue: string) => number

const anyNumber: RoomOf = () => Infinity

export type AnnouncedEvent = Pick<QueuedEvent, 'id' | 'orgId' | 'topic'>

/** Identifies the queue of an event. */
export function queueOf({ orgId, topic }: Pick<QueuedEvent, 'orgId' | 'topic'>): string {
  return `${orgId} ${topic}`
}

/** @param maxEvents Limits the announced events, and those that are known. */
export function createKnownEvents(maxEvents: number): KnownEvents {
  /** The queues of events by their ids; null if unknown. */
  const announced = new Map<string, string | null>()
  const known = new Map<string, string | null>()
  /** The known events of each queue, and those whose queue is unknown. */
  const knownOf = new Map<string | null, OrderedIds>()
  /** The number of events, announced or known, of each queue. */
  const counts = new Map<string, number>()
  const dropped = createDroppedQueues()

  function count(queue: string | null | undefined, change: 1 | -1): void {
    if (queue === null || queue === undefined) return
    const number = (counts.get(queue) ?? 0) + change
    if (number > 0) counts.set(queue, number)
    else counts.delete(queue)
  }

  function dropAll(events: Map<string, string | null>): void {
    for (const queue of events.values()) {
      count(queue, -1)
      dropped.add(queue)
    }
    events.clear()
    if (events === known) knownOf.clear()
  }

  return {
    announce(ids, events) {
      const queues = new Map(events.map((event) => [event.id, queueOf(event)]))
      for (const id of ids) {
        if (announced.has(id) || known.has(id)) continue
        // A round may take long, for instance a search of a large outbox.
        if (announced.size >= maxEvents) dropAll(announced)
        const queue = queues.get(id) ?? null
        announced.set(id, queue)
        count(queue, 1)
      }
    },
    hasAnnounced: () => announced.size > 0,
    accept() {
      for (const [id, queue] of announced) {
        known.set(id, queue)
        const ids = knownOf.get(queue) ?? createOrderedIds()
        knownOf.set(queue, ids)
        ids.add(id)
      }
      announced.clear()
      if (dropped.hasNew() || known.size > maxEvents) dropAll(known)
    },
    hasDropped: dropped.hasNew,
    ids: () => [...known.keys()],
    size: () => known.size,
    idsOfRound({ after = [], roomOf = anyNumber, ...round }) {
      const before = new Set(after)
      const queues = [...knownOf].map(([queue, ids]) => ({
        ids,
        taken: 0,
        queue,
        room: queue === null ? Infinity : roomOf(queue),
      }))
      if (known.size <= round.limit && queues.every(({ room }) => room === Infinity))
        return [...known.keys()].filter((id) => !before.has(id))
      if (after.length > 0) {
        const taken = countOf(after.map((id) => known.get(id)))
        for (const each of queues) each.taken = taken.get(each.queue) ?? 0
      }
      const portions = planPortions(
        queues.map(({ ids, taken, room }) => Math.min(ids.size - taken, room)),
        round,
      )
      return queues.flatMap(({ ids, taken }, index) => {
        const first = ids.first(taken + (portions[index] ?? 0))
        return taken === 0 ? first : first.filter((id) => !before.has(id))
      })
    },
    shortIdsOfRound(limit, roomOf = anyNumber) {
      const queues = [...knownOf].map(([queue, ids]) => ({
        ids,
        isKnown: queue !== null,
        room: queue === null ? Infinity : roomOf(queue),
      }))
      // Events whose queue is unknown may follow those of any other.
      const portions = queues.every(({ isKnown }) => isKnown)
        ? planShort(
            queues.map(({ ids: { size }, room }) => Math.min(size, room)),
            limit,
          )
        : null
      return portions?.flatMap((count, index) => queues[index]?.ids.first(count) ?? []) ?? null
    },
    delete(ids) {
      for (const id of ids) {
        const queue = known.get(id)
        if (queue === undefined) continue
        count(queue, -1)
        known.delete(id)
        const ofQueue = knownOf.get(queue)
        ofQueue?.delete(id)
        if (ofQueue?.size === 0) knownOf.delete(queue)
      }
    },
    isWaiting: (queue) => counts.has(queue) || dropped.has(queue),
    isRouting: (queue) => knownOf.has(queue) || dropped.has(queue),
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

function countOf<T>(items: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return counts
}
