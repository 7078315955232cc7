export interface Batcher<T, R> {
  /** Resolves with the result that `run` returned for the item. */
  add(item: T): Promise<R>
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>
}

export interface BatchOptions<K, T, R> {
  readonly maxItems: number
  /** Two items with one key never share a batch. Keys are compared as those of a Map. */
  readonly keyOf: (item: T) => K
  /** Returns the result of each item by its key, because the rows of a SQL statement have no order. */
  readonly run: (items: readonly T[]) => Promise<ReadonlyMap<K, R>>
}

interface Waiting<T, R> {
  readonly item: T
  readonly resolve: (result: R) => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs items in batches. Items that arrive while a batch runs form the next batch, so a lone item does not
 * wait and a storm costs few transactions. Items run in the order of their arrival. When a batch fails, its
 * items run one by one, so that a bad item fails alone.
 */
export function createBatcher<K, T, R>(options: BatchOptions<K, T, R>): Batcher<T, R> {
  const waiting: Waiting<T, R>[] = []
  let running: Promise<void> | null = null

  async function drain(): Promise<void> {
    // Lets the event loop read input that has already arrived, which often holds more items.
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchLength(waiting, options))
      await settle(batch, options)
    }
    running = null
  }

  return {
    add(item) {
      const { promise, resolve, reject } = Promise.withResolvers<R>()
      waiting.push({ item, resolve, reject })
      running ??= drain()
      return promise
    },
    idle: () => running ?? Promise.resolve(),
  }
}

function batchLength<K, T, R>(
  waiting: readonly { readonly item: T }[],
  { maxItems, keyOf }: BatchOptions<K, T, R>,
): number {
  const keys = new Set<K>()
  for (const { item } of waiting) {
    const key = keyOf(item)
    if (keys.size >= maxItems || keys.has(key)) break
    keys.add(key)
  }
  return keys.size
}

async function settle<K, T, R>(batch: readonly Waiting<T, R>[], options: BatchOptions<K, T, R>): Promise<void> {
  const { keyOf, run } = options
  try {
    const results = await run(batch.map(({ item }) => item))
    for (const { item, resolve, reject } of batch) {
      const result = results.get(keyOf(item))
      if (result === undefined) reject(new Error('a batch did not answer one of its items'))
      else resolve(result)
    }
  } catch (error) {
    if (batch.length === 1) batch[0]?.reject(error)
    else for (const waiting of batch) await settle([waiting], options)
  }
}
