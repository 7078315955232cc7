import type { WebhookWorkerOptions } from '../../src/webhooks/workers.ts'

/** The clock of held lanes and of their requests. It stands still unless a test advances it, however busy the machine is. */
export interface LaneClock {
  /** Makes workers use it. */
  readonly options: Required<Pick<WebhookWorkerOptions, 'laneMs' | 'monotonicMs'>>
  advance(ms: number): void
  /** How often the workers have read it for requests, which they do each time that lanes age. */
  looks(): number
}

export function createLaneClock(): LaneClock {
  let nowMs = 0
  let looks = 0
  function monotonicMs(): number {
    looks += 1
    return nowMs
  }
  return {
    options: { laneMs: () => nowMs, monotonicMs },
    advance(ms) {
      nowMs += ms
    },
    looks: () => looks,
  }
}
