import type { WebhookWorkerOptions } from '../../src/webhooks/workers.ts'

/** The clock of held lanes and of their requests. It stands still unless a test advances it, however busy the machine is. */
export interface LaneClock {
  /** Makes workers use it. */
  readonly options: Required<Pick<WebhookWorkerOptions, 'laneMs' | 'monotonicMs'>>
  advance(ms: number): void
}

export function createLaneClock(): LaneClock {
  let nowMs = 0
  return {
    options: { laneMs: () => nowMs, monotonicMs: () => nowMs },
    advance(ms) {
      nowMs += ms
    },
  }
}
