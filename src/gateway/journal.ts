import type { Logger } from '../platform/log.ts'

export interface Journal<T> {
  add(item: T): void
  /** Writes the waiting items; items that could not be written stay for the next call. Never throws. */
  flush(): Promise<void>
}

const MAX_ITEMS = 500

/**
 * Holds facts that must reach the database in order, however long that takes. While the database is
 * unreachable they wait here; the caller's timer calls `flush` again.
 */
export function createJournal<T>(write: (items: readonly T[]) => Promise<void>, log: Logger): Journal<T> {
  const waiting: T[] = []
  let flushing: Promise<void> | null = null

  async function drain(): Promise<void> {
    // Lets the event loop read input that has already arrived, which often brings more items.
    await new Promise((resolve) => setImmediate(resolve))
    try {
      while (waiting.length > 0) {
        const some = waiting.slice(0, MAX_ITEMS)
        await write(some)
        waiting.splice(0, some.length)
      }
    } catch (error) {
      log.warn({ err: error, waiting: waiting.length }, 'could not write what devices did; trying again')
    } finally {
      flushing = null
    }
  }

  function flush(): Promise<void> {
    if (waiting.length === 0) return flushing ?? Promise.resolve()
    flushing ??= drain()
    return flushing
  }

  return {
    add(item) {
      waiting.push(item)
      void flush()
    },
    flush,
  }
}
