/**
 * Joins reads that wait at the same time into one query, without ever answering with older data than
 * a query of the caller's own would have seen: a read joins only a batch that has not started yet.
 * So there is nothing to invalidate, and a revoked token is revoked at once.
 *
 * @param load Reads all keys in one go; a key that is missing in its answer reads as undefined.
 */
export function coalesceReads<V>(
  load: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
): (key: string) => Promise<V | undefined> {
  let waiting: Batch<V> | null = null
  let running = 0

  function start(batch: Batch<V>): void {
    if (waiting !== batch || running >= BATCHES_AT_ONCE) return
    waiting = null
    running += 1
    load([...batch.keys])
      .then(batch.resolve, batch.reject)
      .finally(() => {
        running -= 1
        if (waiting !== null) start(waiting)
      })
  }

  return async (key) => {
    if (waiting === null) {
      const batch = openBatch<V>()
      waiting = batch
      // After the input that has already arrived: requests read from one poll share a batch.
      setImmediate(() => start(batch))
    }
    waiting.keys.add(key)
    return (await waiting.result).get(key)
  }
}

/** Two, so that one batch gathers and one is prepared while the database works. */
const BATCHES_AT_ONCE = 2

interface Batch<V> {
  readonly keys: Set<string>
  readonly result: Promise<ReadonlyMap<string, V>>
  readonly resolve: (result: ReadonlyMap<string, V>) => void
  readonly reject: (error: unknown) => void
}

function openBatch<V>(): Batch<V> {
  const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, V>>()
  return { keys: new Set(), result: promise, resolve, reject }
}
