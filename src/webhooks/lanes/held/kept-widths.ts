import type { ClaimedLane } from '../../delivery/store.ts'
import { FIRST_WIDTH } from '../decide-lane.ts'

type LeasedWebhook = Pick<ClaimedLane, 'webhookId'> & { readonly webhook: Pick<ClaimedLane['webhook'], 'version'> }

/** How many requests lanes might have in flight when they were released. */
export interface KeptWidths {
  keep(lane: LeasedWebhook, width: number): void
  /** Returns the width of a lane that is leased again; that of a new one if its webhook has changed, since it may have another receiver. */
  take(lane: LeasedWebhook): number
}

/** A lane that is dropped begins with one request, as any other. */
const MAX_KEPT = 10_000

export function createKeptWidths(): KeptWidths {
  const kept = new Map<string, { readonly version: string; readonly width: number }>()
  return {
    keep({ webhookId, webhook: { version } }, width) {
      const [oldest] = kept.keys()
      if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
      kept.set(webhookId, { version, width })
    },
    take({ webhookId, webhook: { version } }) {
      const former = kept.get(webhookId)
      kept.delete(webhookId)
      return former?.version === version ? former.width : FIRST_WIDTH
    },
  }
}
