import type { QueuedEvent } from '../events/store.ts'

/** The events that commits have announced and that the router has not routed yet. */
export interface KnownEvents {
  /** Adds events for the next round. The queue is known of those in `events` only. */
  announce(ids: Iterable<string>, events: readonly QueuedEvent[]): void
  /** True if events wait for the next round. */
  hasAnnounced(): boolean
  /**
   * Makes the announced events known, at the start of a round.
   * @returns False if there were too many: all were dropped, and only a search finds them.
   */
  accept(): boolean
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

/** Identifies the queue of an event. */
export function queueOf({ orgId, topic }: Pick<QueuedEvent, 'orgId' | 'topic'>): string {
  return `${orgId} ${topic}`
}

export function createKnownEvents(maxEvents: number): KnownEvents {
  let announced = new Map<string, QueuedEvent | null>()
  const known = new Map<string, QueuedEvent | null>()
  /** The number of events, announced or known, of each queue. */
  const counts = new Map<string, number>()
  /** The queues of dropped events: before and since the running search began. */
  let [covered, uncovered] = [new Set<string>(), new Set<string>()]

  function count(event: QueuedEvent | null | undefined, change: 1 | -1): void {
    if (event === null || event === undefined) return
    const queue = queueOf(event)
    const number = (counts.get(queue) ?? 0) + change
    if (number > 0) counts.set(queue, number)
    else counts.delete(queue)
  }

  return {
    announce(ids, events) {
      const byId = new Map(events.map((event) => [event.id, event]))
      for (const id of ids) {
        if (announced.has(id) || known.has(id)) continue
        const event = byId.get(id) ?? null
        announced.set(id, event)
        count(event, 1)
      }
    },
    hasAnnounced: () => announced.size > 0,
    accept() {
      for (const [id, event] of announced) known.set(id, event)
      announced = new Map()
      if (known.size <= maxEvents) return true
      for (const queue of counts.keys()) uncovered.add(queue)
      counts.clear()
      known.clear()
      return false
    },
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
    },
    endSearch(isComplete) {
      if (isComplete) covered = new Set()
    },
  }
}
