import { pause } from '../time/pause.ts'

/** What an organization may upload per second in the long run, in all its uploads of a kind together. */
const BYTES_PER_S = 32 * 1024 * 1024
/** Usual pictures never wait. */
const BURST_BYTES = 16 * 1024 * 1024

/** Waits before more of an upload is read, so that uploads leave time and disk to others. */
export interface UploadPace {
  /** Waits until the organization may upload these bytes. */
  wait(orgId: string, bytes: number): Promise<void>
}

interface PaceOptions {
  /** Monotonic milliseconds. */
  readonly now?: () => number
  readonly sleep?: (ms: number) => Promise<void>
}

export function createUploadPace({ now = () => performance.now(), sleep = pause }: PaceOptions = {}): UploadPace {
  /** When everything that the organization has uploaded would have arrived at its rate; the earliest first. */
  const paidUntilMs = new Map<string, number>()

  function forgetIdle(): void {
    for (const [orgId, untilMs] of paidUntilMs) {
      if (untilMs > now()) return
      paidUntilMs.delete(orgId)
    }
  }

  return {
    async wait(orgId, bytes) {
      forgetIdle()
      const untilMs = Math.max(paidUntilMs.get(orgId) ?? 0, now()) + (1000 * bytes) / BYTES_PER_S
      paidUntilMs.delete(orgId)
      paidUntilMs.set(orgId, untilMs)
      const aheadMs = untilMs - now() - (1000 * BURST_BYTES) / BYTES_PER_S
      if (aheadMs > 0) await sleep(aheadMs)
    },
  }
}
