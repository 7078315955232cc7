/** The number of kinds whose costs are remembered; the oldest are dropped. */
const MAX_KNOWN = 10_000
/** The weight of the latest request in the cost of its kind. */
const LATEST = 0.2

/** What requests cost the main thread. */
export interface RequestCosts {
  /**
   * Call it when a request begins; the returned function when it ends.
   * @param kind Requests of a kind are expected to cost the same.
   * @returns A function that returns the milliseconds of the main thread that the request has used. It takes whether the
   *   request is complete: a part of one says nothing about others of its kind.
   */
  measure(kind: string): (isComplete: boolean) => number
}

/**
 * Estimates the processor time of requests that run at the same time in one thread: what a request took while no other
 * one was in work counts for all of its kind. Until then the time of the thread is divided equally between the requests
 * in work. Waiting costs nothing, so a slow machine does not make a caller look expensive.
 * @param cpuMs Milliseconds of processor time that this thread has used.
 */
export function createRequestCosts(cpuMs: () => number): RequestCosts {
  const known = new Map<string, number>()
  let running = 0
  let begun = 0
  let lastMs = cpuMs()
  /** The sum of the shares of a request that has been in work since the start. */
  let sharesMs = 0

  function advance(): number {
    const nowMs = cpuMs()
    if (running > 0) sharesMs += (nowMs - lastMs) / running
    lastMs = nowMs
    return nowMs
  }

  function learn(kind: string, ms: number): number {
    const before = known.get(kind) ?? ms
    const [oldest] = known.keys()
    if (known.size >= MAX_KNOWN && oldest !== undefined) known.delete(oldest)
    known.delete(kind)
    known.set(kind, before + (ms - before) * LATEST)
    return ms
  }

  return {
    measure(kind) {
      const beganMs = advance()
      const [sharesBefore, wasAlone] = [sharesMs, running === 0]
      running += 1
      const number = (begun += 1)
      return (isComplete) => {
        const endedMs = advance()
        running -= 1
        if (!isComplete) return sharesMs - sharesBefore
        if (wasAlone && begun === number) return learn(kind, endedMs - beganMs)
        return known.get(kind) ?? sharesMs - sharesBefore
      }
    },
  }
}
