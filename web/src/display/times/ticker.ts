/** A clock that all texts of a page share: two ages of the page are as far apart as what they are about. */
export interface Ticker {
  /** @returns Epoch milliseconds, of the last tick. */
  readonly now: () => number
  /** @returns A function that ends the subscription. */
  readonly subscribe: (onTick: () => void) => () => void
}

/** Creates a clock that goes on while anybody listens. */
export function createTicker(everyMs: number): Ticker {
  const listeners = new Set<() => void>()
  let nowMs = Date.now()
  let timer: ReturnType<typeof setInterval> | undefined
  const tick = (): void => {
    nowMs = Date.now()
    for (const listener of listeners) listener()
  }
  return {
    now: () => nowMs,
    subscribe(onTick) {
      if (listeners.size === 0) {
        nowMs = Date.now()
        timer = setInterval(tick, everyMs)
      }
      listeners.add(onTick)
      return () => {
        listeners.delete(onTick)
        if (listeners.size === 0) clearInterval(timer)
      }
    },
  }
}
