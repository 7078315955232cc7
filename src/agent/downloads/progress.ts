import type { Progress } from '../../gateway/edge/messages.ts'

/** Carries the progress of commands to the connection, if there is one. */
export interface ProgressFeed {
  /** Every step is passed on immediately, and its percentage at intervals. */
  report(progress: Progress): void
  /** Replaces the former listener. Returns a function that ends it. */
  listen(listener: (progress: Progress) => void): () => void
}

const INTERVAL_MS = 5000

/** @param now Monotonic milliseconds. */
export function createProgressFeed(now: () => number): ProgressFeed {
  let listener: ((progress: Progress) => void) | null = null
  let last: { readonly key: string; readonly atMs: number } | null = null
  return {
    report(progress) {
      const key = `${progress.command_id} ${progress.step}`
      if (last?.key === key && now() - last.atMs < INTERVAL_MS) return
      last = { key, atMs: now() }
      listener?.(progress)
    },
    listen(next) {
      listener = next
      return () => {
        if (listener === next) listener = null
      }
    },
  }
}
