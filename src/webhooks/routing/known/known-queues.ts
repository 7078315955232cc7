import { planPortions, planShort } from '../planning/plan-portions.ts'
import { type OrderedIds, createOrderedIds } from './ordered-ids.ts'

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

/** Events that wait to be routed, by their queues; null is the queue of those whose queue is unknown. */
export interface KnownQueues {
  add(id: string, queue: string | null): void
  /** Returns the queue of the event; undefined if it is not known. */
  delete(id: string): string | null | undefined
  clear(): void
  has(id: string): boolean
  hasQueue(queue: string): boolean
  readonly ids: () => string[]
  readonly size: () => number
  /** The queue of each event. */
  queues(): Iterable<string | null>
  /** Returns the ids for a round: all, or about `limit`, and of each queue the oldest. */
  readonly idsOfRound: (round: RoundIds) => string[]
  /** Returns the ids for a round without the backlogs of other queues; null if that is no shorter. */
  readonly shortIdsOfRound: (limit: number, roomOf?: RoomOf) => string[] | null
}

interface QueuePart {
  readonly queue: string | null
  readonly ids: OrderedIds
  readonly room: number
}

const anyNumber: RoomOf = () => Infinity

export function createKnownQueues(): KnownQueues {
  const queues = new Map<string, string | null>()
  const idsOf = new Map<string | null, OrderedIds>()

  const partsOf = (roomOf: RoomOf): QueuePart[] =>
    [...idsOf].map(([queue, ids]) => ({ queue, ids, room: queue === null ? Infinity : roomOf(queue) }))

  return {
    add(id, queue) {
      queues.set(id, queue)
      const ids = idsOf.get(queue) ?? createOrderedIds()
      idsOf.set(queue, ids)
      ids.add(id)
    },
    delete(id) {
      const queue = queues.get(id)
      if (queue === undefined) return undefined
      queues.delete(id)
      const ids = idsOf.get(queue)
      ids?.delete(id)
      if (ids?.size === 0) idsOf.delete(queue)
      return queue
    },
    clear() {
      queues.clear()
      idsOf.clear()
    },
    has: (id) => queues.has(id),
    hasQueue: (queue) => idsOf.has(queue),
    ids: () => [...queues.keys()],
    size: () => queues.size,
    queues: () => queues.values(),
    idsOfRound({ after = [], roomOf = anyNumber, ...round }) {
      const before = new Set(after)
      const parts = partsOf(roomOf)
      if (queues.size <= round.limit && parts.every(({ room }) => room === Infinity))
        return [...queues.keys()].filter((id) => !before.has(id))
      const taken = countOf(after.map((id) => queues.get(id)))
      const takenOf = (queue: string | null): number => taken.get(queue) ?? 0
      const portions = planPortions(
        parts.map(({ queue, ids, room }) => Math.min(ids.size - takenOf(queue), room)),
        round,
      )
      return parts.flatMap(({ queue, ids }, index) => {
        const first = ids.first(takenOf(queue) + (portions[index] ?? 0))
        return takenOf(queue) === 0 ? first : first.filter((id) => !before.has(id))
      })
    },
    shortIdsOfRound(limit, roomOf = anyNumber) {
      // Events whose queue is unknown may follow those of any other.
      if (idsOf.has(null)) return null
      const parts = partsOf(roomOf)
      const portions = planShort(
        parts.map(({ ids, room }) => Math.min(ids.size, room)),
        limit,
      )
      return portions?.flatMap((count, index) => parts[index]?.ids.first(count) ?? []) ?? null
    },
  }
}

function countOf<T>(items: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return counts
}
