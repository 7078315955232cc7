/**
 * Combines concurrent reads into one query, and never answers with older data than the caller's own query would have
 * seen: a read joins only a batch that has not started yet. So there is nothing to invalidate, and a revoked token is
 * revoked immediately.
 * @param load Reads all keys in one query; a key that is missing in its answer reads as undefined.
 */
export function coalesceReads<V>(
  load: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>,
): (key: string) => Promise<V | undefined> {
  const join = openLane({ open: () => new Set<string>(), load: (keys) => load([...keys]), onIdle: () => undefined })
  return async (key) => {
    const { content, result } = join()
    content.add(key)
    return (await result).get(key)
  }
}

/**
 * Does the same as coalesceReads() for reads that can't be combined into one query: equal reads share one load and its answer, which
 * no caller may change. Different reads don't wait for each other.
 * @param load Depends on the read only. Its key is the whole read as JSON, so no answer reaches the caller of another
 *   read.
 */
export function coalesceEqual<R extends object, V>(load: (read: R) => Promise<V>): (read: R) => Promise<V> {
  const lanes = new Map<string, () => Batch<R, V>>()
  return (read) => {
    const key = JSON.stringify(read)
    let join = lanes.get(key)
    if (join === undefined) {
      join = openLane({ open: () => read, load, onIdle: () => lanes.delete(key) })
      lanes.set(key, join)
    }
    return join().result
  }
}

/**
 * A batch waits at most this many turns of the event loop for more reads, while more arrive. A turn is short against a
 * query, and the larger the batch, the less each of its reads costs.
 */
const GATHERING_TURNS = 3

/** Two, so that one batch gathers and one is prepared while the database works. */
const BATCHES_AT_ONCE = 2

interface Batch<C, V> {
  readonly content: C
  readonly result: Promise<V>
  readonly resolve: (result: V) => void
  readonly reject: (error: unknown) => void
}

interface Lane<C, V> {
  readonly open: () => C
  readonly load: (content: C) => Promise<V>
  /** Called when nothing runs and nothing waits. */
  readonly onIdle: () => void
}

/** @returns A function that returns the batch to join: the waiting one, or a new one. */
function openLane<C, V>({ open, load, onIdle }: Lane<C, V>): () => Batch<C, V> {
  let waiting: Batch<C, V> | null = null
  let running = 0
  let joined = 0

  function start(batch: Batch<C, V>): void {
    if (waiting !== batch || running >= BATCHES_AT_ONCE) return
    waiting = null
    running += 1
    load(batch.content)
      .then(batch.resolve, batch.reject)
      .finally(() => {
        running -= 1
        if (waiting !== null) start(waiting)
        else if (running === 0) onIdle()
      })
  }

  /** The load starts a turn later, after input that has already arrived: requests read from one poll share a batch. */
  function gather(batch: Batch<C, V>, turnsLeft: number): void {
    const before = joined
    setImmediate(() => {
      if (turnsLeft > 0 && joined > before) gather(batch, turnsLeft - 1)
      else start(batch)
    })
  }

  return () => {
    joined += 1
    if (waiting === null) {
      waiting = { content: open(), ...withResolvers<V>() }
      gather(waiting, GATHERING_TURNS)
    }
    return waiting
  }
}

function withResolvers<V>(): Omit<Batch<unknown, V>, 'content'> {
  const { promise, resolve, reject } = Promise.withResolvers<V>()
  return { result: promise, resolve, reject }
}
