import type { QueuedEvent } from '../events/store.ts'

/** The events that commits have announced and that the router has not routed yet. */
export interface KnownEvents {
  /** Adds events for the next round. The queue is known of those in `events` only. */
  announce(ids: Iterable<string>, events: readonly AnnouncedEvent[]): void
  /** True if events wait for the next round. */
  hasAnnounced(): boolean
  /** Makes the announced events known, at the start of a round. If there are too many, all are dropped. */
  accept(): void
  /** True if events were dropped after the last search began, so that only another one finds them. */
  hasDropped(): boolean
  ids(): string[]
  delete(ids: Iterable<string>): void
  /** True if an earlier event of the queue may wait to be routed. Events of other threads don't count. */
  isWaiting(queue: string): boolean
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
  const known = new Map<string, string | null>()
  /** The number of events, announced or known, of each queue. */
  const counts = new Map<string, number>()
  /** The queues of dropped events: before and since the running search began. */
  let [covered, uncovered] = [new Set<string>(), new Set<string>()]
  let hasDropped = false

  function count(queue: string | null | undefined, change: 1 | -1): void {
    if (queue === null || queue === undefined) return
    const number = (counts.get(queue) ?? 0) + change
    if (number > 0) counts.set(queue, number)
    else counts.delete(queue)
  }

  function dropAll(events: Map<string, string | null>): void {
    hasDropped = true
    for (const queue of events.values()) {
      count(queue, -1)
      if (queue !== null) uncovered.add(queue)
    }
    events.clear()
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
      for (const [id, queue] of announced) known.set(id, queue)
      announced.clear()
      if (hasDropped || known.size > maxEvents) dropAll(known)
    },
    hasDropped: () => hasDropped,
    ids: () => [...known.keys()],
    delete(ids) {
      for (const id of ids) {
        count(known.get(id), -1)
        known.delete(id)
      }
    },
    isWaiting: (queue) => counts.has(queue) || covered.has(queue) || uncovered.has(queue),
    has: (id) => known.has(id) || announced.has(id),
    beginSearch() {
      for (const queue of uncovered) covered.add(queue)
      uncovered = new Set()
      hasDropped = false
    },
    endSearch(isComplete) {
      if (isComplete) covered = new Set()
    },
  }
}
