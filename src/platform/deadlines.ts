/** Many time-outs with one timer. A time-out ends up to a tick late and costs no object of the runtime. */
export interface Deadlines {
  /** Calls `expire` after `ms`, unless the returned function is called before. */
  add(ms: number, expire: () => void): () => void
}

const TICK_MS = 20

export function createDeadlines(): Deadlines {
  /** By the number of the tick at which they end. */
  const ticks = new Map<number, Set<() => void>>()
  let timer: NodeJS.Timeout | null = null
  let passed = 0

  function expireUntil(now: number): void {
    if (ticks.size > 0) passed = Math.max(passed, Math.min(...ticks.keys()) - 1)
    while (passed < now && ticks.size > 0) {
      passed += 1
      const due = ticks.get(passed)
      ticks.delete(passed)
      for (const expire of due ?? []) expire()
    }
    passed = Math.max(passed, now)
    if (ticks.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }

  return {
    add(ms, expire) {
      const tick = Math.max(Math.ceil((performance.now() + ms) / TICK_MS), passed + 1)
      const entry = (): void => expire()
      const set = ticks.get(tick) ?? new Set()
      ticks.set(tick, set.add(entry))
      // The connection of a request keeps the process alive; the timer need not.
      timer ??= setInterval(() => expireUntil(Math.floor(performance.now() / TICK_MS)), TICK_MS).unref()
      return () => {
        set.delete(entry)
        if (set.size === 0 && ticks.get(tick) === set) ticks.delete(tick)
      }
    },
  }
}
