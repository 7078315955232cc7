/**
 * Service time: the milliseconds for which this installation has been listening to devices, summed over all its runs.
 * It never jumps when the wall clock is set, and it stands still while the service is down or suspended, because no
 * device could reach it then. Rollouts measure their time-outs with it.
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

/** The service time at one moment, by which another thread can continue it. */
export interface TimeReading {
  readonly nowMs: number
  readonly listeningSinceMs: number
  /** Monotonic milliseconds of the moment; null while the service does not listen. */
  readonly takenAtMs: number | null
}

export interface ListeningClock extends ServiceClock {
  read(): TimeReading
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
    read() {
      observe()
      return { nowMs: countedMs, listeningSinceMs: sinceMs, takenAtMs: observedMs }
    },
    listen() {
      observedMs ??= monotonicMs()
    },
  }
}

/** The service clock of another thread. */
export interface FollowingClock extends ServiceClock {
  /** Continues from a newer reading. */
  follow(reading: TimeReading): void
}

/**
 * Continues the last reading of a service clock. It is never ahead of that clock, because it counts no more without a
 * new reading than that clock would count in one step.
 * @param monotonicMs That of the other clock.
 */
export function createFollowingClock(first: TimeReading, monotonicMs: () => number): FollowingClock {
  let last = first
  return {
    nowMs() {
      const passedMs = last.takenAtMs === null ? 0 : Math.max(0, monotonicMs() - last.takenAtMs)
      return last.nowMs + Math.min(passedMs, MAX_STEP_MS)
    },
    listeningSinceMs: () => last.listeningSinceMs,
    follow(reading) {
      last = reading
    },
  }
}
