/** Runs the work of many sessions in slices, so that the event loop serves others in between. */
export interface Turns {
  /** Runs the work when its turn has come and resolves with its result. Turns follow the order of the calls. */
  run<T>(work: () => T): Promise<T>
}

/** The length of a slice, which delays commands; a single piece of work may take longer. */
const SLICE_MS = 2

export function createTurns(now: () => number): Turns {
  let waiting: (() => void)[] = []
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || waiting.length === 0) return
    isScheduled = true
    // Lets the event loop read input that has arrived in the meantime.
    setImmediate(takeSlice)
  }

  function takeSlice(): void {
    isScheduled = false
    const startMs = now()
    let done = 0
    for (const work of waiting) {
      work()
      done += 1
      if (now() - startMs >= SLICE_MS) break
    }
    waiting = waiting.slice(done)
    schedule()
  }

  return {
    run: (work) =>
      new Promise((resolve, reject) => {
        waiting.push(() => {
          try {
            resolve(work())
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)))
          }
        })
        schedule()
      }),
  }
}
