import { pause } from '../../../platform/time/pause.ts'

/** The work that runs for requests: checks of credentials and operations, also if their clients have left. */
export interface OpenWork {
  add(work: Promise<unknown>): void
  /** Lets settle() resolve no later than after this time from now, whatever it is called with. */
  endWithin(ms: number): void
  /**
   * Resolves when nothing runs any more, and no later than after `withinMs`.
   * @returns The number of those that still run.
   */
  settle(withinMs: number): Promise<number>
}

export function createOpenWork(): OpenWork {
  const open = new Set<Promise<unknown>>()
  let endMs = Infinity
  return {
    endWithin(ms) {
      endMs = performance.now() + ms
    },
    add(work) {
      open.add(work)
      const end = (): void => void open.delete(work)
      work.then(end, end)
    },
    async settle(withinMs) {
      const settled = new AbortController()
      const end = async (): Promise<void> => {
        // The check of a client that is still there is followed by its operation.
        while (open.size > 0 && !settled.signal.aborted) await Promise.allSettled(open)
        settled.abort()
      }
      void end()
      await pause(Math.min(withinMs, endMs - performance.now()), settled.signal)
      settled.abort()
      return open.size
    },
  }
}
