/** A longer gap between two readings means that the process was stopped or got no processor time. */
const MAX_STEP_MS = 1000

/**
 * Returns a clock of milliseconds that counts at most a second of any time in which it is not read. While its owner reads it
 * more often than that, it counts the time in which this process could have noticed an answer: after a stop, what had a
 * time limit still has nearly all that was left of it. It never goes back.
 */
export function createRunningClock(monotonicMs: () => number = () => performance.now()): () => number {
  let readMs = monotonicMs()
  let countedMs = 0
  return () => {
    const nowMs = monotonicMs()
    countedMs += Math.min(Math.max(0, nowMs - readMs), MAX_STEP_MS)
    readMs = nowMs
    return countedMs
  }
}
