/** Counts for each key how many promises are pending. */
export interface KeyCounts {
  /** Counts the promise for the key until it settles; handles its rejection. */
  during(key: string, promise: Promise<unknown>): void
  /** True while a promise of the key is pending. */
  has(key: string): boolean
  /** Resolves when no promise of the key is pending. */
  idle(key: string): Promise<void>
}

export function countKeys(): KeyCounts {
  const counts = new Map<string, number>()
  const waiting = new Map<string, PromiseWithResolvers<void>>()
  return {
    during(key, promise) {
      counts.set(key, (counts.get(key) ?? 0) + 1)
      const end = (): void => {
        const left = (counts.get(key) ?? 1) - 1
        if (left > 0) return void counts.set(key, left)
        counts.delete(key)
        waiting.get(key)?.resolve()
        waiting.delete(key)
      }
      promise.then(end, end)
    },
    has: (key) => counts.has(key),
    idle(key) {
      if (!counts.has(key)) return Promise.resolve()
      const ended = waiting.get(key) ?? Promise.withResolvers<void>()
      waiting.set(key, ended)
      return ended.promise
    },
  }
}
