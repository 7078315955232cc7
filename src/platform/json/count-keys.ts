/** Counts for each key how many promises are pending. */
export interface KeyCounts {
  /** Counts the promise for the key until it settles; handles its rejection. */
  during(key: string, promise: Promise<unknown>): void
  /** True while a promise of the key is pending. */
  has(key: string): boolean
}

export function countKeys(): KeyCounts {
  const counts = new Map<string, number>()
  return {
    during(key, promise) {
      counts.set(key, (counts.get(key) ?? 0) + 1)
      const end = (): void => {
        const left = (counts.get(key) ?? 1) - 1
        if (left === 0) counts.delete(key)
        else counts.set(key, left)
      }
      promise.then(end, end)
    },
    has: (key) => counts.has(key),
  }
}
