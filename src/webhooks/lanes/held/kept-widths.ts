import { FIRST_WIDTH } from '../decide-lane.ts'

/** How many requests lanes with further messages might have in flight when they were released. */
export interface KeptWidths {
  keep(webhookId: string, width: number): void
  /** Returns the width of a lane that is leased again. */
  take(webhookId: string): number
}

/** A lane that is dropped begins with one request, as any other. */
const MAX_KEPT = 10_000

export function createKeptWidths(): KeptWidths {
  const widths = new Map<string, number>()
  return {
    keep(webhookId, width) {
      const [oldest] = widths.keys()
      if (widths.size >= MAX_KEPT && oldest !== undefined) widths.delete(oldest)
      widths.set(webhookId, width)
    },
    take(webhookId) {
      const width = widths.get(webhookId) ?? FIRST_WIDTH
      widths.delete(webhookId)
      return width
    },
  }
}
