/** The queues of events that were dropped because there were too many to remember, until a search has found these events. */
export interface DroppedQueues {
  /** Must be called for each dropped event. @param queue Null if it is unknown. */
  add(queue: string | null): void
  /** True if the outbox may have events of the queue that only a search finds. */
  has(queue: string): boolean
  /** True if events were dropped after the last search began, so that only another one finds them. */
  readonly hasNew: () => boolean
  /** A search that begins now will find all events that were dropped so far. */
  readonly beginSearch: () => void
  /** @param isComplete True if the search has left no event that is ripe. */
  readonly endSearch: (isComplete: boolean) => void
}

export function createDroppedQueues(): DroppedQueues {
  /** The queues of events that were dropped before and since the running search began. */
  let [covered, uncovered] = [new Set<string>(), new Set<string>()]
  let hasNew = false
  return {
    add(queue) {
      hasNew = true
      if (queue !== null) uncovered.add(queue)
    },
    has: (queue) => covered.has(queue) || uncovered.has(queue),
    hasNew: () => hasNew,
    beginSearch() {
      for (const queue of uncovered) covered.add(queue)
      uncovered = new Set()
      hasNew = false
    },
    endSearch(isComplete) {
      if (isComplete) covered = new Set()
    },
  }
}
