/**
 * Reads again after changes. However many arrive, it reads once, and then pauses in proportion to the duration of the
 * read.
 */
export interface Refresher {
  request(): void
  stop(): void
}

interface RefresherParts {
  /** @returns The duration in milliseconds. */
  readonly refresh: () => Promise<number>
  readonly schedule: (run: () => void, ms: number) => void
}

const REST_MS = 1500
/** At most a fifth of the time is spent on reading. */
const REST_FACTOR = 4

export function createRefresher({ refresh, schedule }: RefresherParts): Refresher {
  let isBusy = false
  let isWanted = false
  let isStopped = false

  function read(): void {
    isBusy = true
    isWanted = false
    void refresh().then((tookMs) => schedule(rested, Math.max(REST_MS, REST_FACTOR * tookMs)))
  }

  function rested(): void {
    isBusy = false
    if (isWanted && !isStopped) read()
  }

  return {
    request() {
      if (isBusy) isWanted = true
      else if (!isStopped) read()
    },
    stop() {
      isStopped = true
    },
  }
}
