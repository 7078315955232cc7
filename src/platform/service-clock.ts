/**
 * Service time: the milliseconds for which this installation has been listening to devices, summed over all its runs.
 * It never jumps when the wall clock is set, and it stands still while the service is down or suspended, because no
 * device could be heard then. Rollouts measure their time-outs with it.
 */
export interface ServiceClock {
  nowMs(): number
  /** When the service last began to listen, or resumed after a suspension. Devices then need a while to come back. */
  listeningSinceMs(): number
}

/** Observations this far apart are normal; a longer gap means that the process did not run, so it does not count. */
const MAX_STEP_MS = 5000
/** After a gap this long, devices have given up their connections. */
const SUSPENDED_MS = 30_000

export interface ListeningClock extends ServiceClock {
  /** Called when devices can connect. Service time stands still until then. */
  listen(): void
}

/**
 * Continues from a persisted time.
 * @param monotonicMs Never goes back; it may count time in which the process did not run.
 */
export function createServiceClock(baseMs: number, monotonicMs: () => number): ListeningClock {
  let countedMs = baseMs
  let observedMs: number | null = null
  let sinceMs = baseMs
  function observe(): void {
    if (observedMs === null) return
    const now = monotonicMs()
    const passedMs = Math.max(0, now - observedMs)
    observedMs = now
    countedMs += Math.min(passedMs, MAX_STEP_MS)
    if (passedMs >= SUSPENDED_MS) sinceMs = countedMs
  }
  return {
    nowMs() {
      observe()
      return countedMs
    },
    listeningSinceMs() {
      observe()
      return sinceMs
    },
    listen() {
      observedMs ??= monotonicMs()
    },
  }
}
