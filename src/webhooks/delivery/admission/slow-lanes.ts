/** The webhooks whose last requests were slow. */
export interface SlowLanes {
  has(webhookId: string): boolean
  add(webhookId: string): void
  delete(webhookId: string): void
  webhookIds(): string[]
}

/** The number of slow lanes to remember. A slow lane that is dropped blocks a fresh slot once more. */
const MAX_SLOW_LANES = 10_000

export function createSlowLanes(): SlowLanes {
  const ids = new Set<string>()
  return {
    has: (webhookId) => ids.has(webhookId),
    add(webhookId) {
      const [oldest] = ids
      if (ids.size >= MAX_SLOW_LANES && oldest !== undefined) ids.delete(oldest)
      ids.add(webhookId)
    },
    delete: (webhookId) => void ids.delete(webhookId),
    webhookIds: () => [...ids],
  }
}
