export interface Batcher<T, R> {
  /** Resolves with what `run` answered for the item. */
  add(item: T): Promise<R>
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>
}

export interface BatchOptions<T, R> {
  readonly maxItems: number
  /** Two items with one key never share a batch. */
  readonly keyOf: (item: T) => unknown
  /** Answers in the order of the items. */
  readonly run: (items: readonly T[]) => Promise<readonly R[]>
}

interface Waiting<T, R> {
  readonly item: T
  readonly resolve: (result: R) => void
  readonly reject: (error: unknown) => void
}

/**
 * Commits together what arrives together: items that come while a batch runs make up the next one, so
 * that a lone item does not wait and a storm costs few transactions. Items run in the order of their
 * arrival. When a batch fails, its items run one by one, so that a bad one fails alone.
 */
export function createBatcher<T, R>({ maxItems, keyOf, run }: BatchOptions<T, R>): Batcher<T, R> {
  const waiting: Waiting<T, R>[] = []
  let running: Promise<void> | null = null

  async function drain(): Promise<void> {
    // After the input that has arrived already, which often holds more items.
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchLength(waiting, maxItems, keyOf))
      await settle(batch, run)
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

function batchLength<T>(
  waiting: readonly { readonly item: T }[],
  maxItems: number,
  keyOf: (item: T) => unknown,
): number {
  const keys = new Set<unknown>()
  for (const { item } of waiting) {
    if (keys.size >= maxItems || keys.has(keyOf(item))) break
    keys.add(keyOf(item))
  }
  return keys.size
}

async function settle<T, R>(batch: readonly Waiting<T, R>[], run: BatchOptions<T, R>['run']): Promise<void> {
  try {
    const results = await run(batch.map(({ item }) => item))
    for (const [index, { resolve, reject }] of batch.entries()) {
      const result = results[index]
      if (result === undefined) reject(new Error('a batch answered too few items'))
      else resolve(result)
    }
  } catch (error) {
    if (batch.length === 1) batch[0]?.reject(error)
    else for (const waiting of batch) await settle([waiting], run)
  }
}
