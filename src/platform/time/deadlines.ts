/**
 * Many time-outs with one timer. A time-out ends up to a tick late and costs no object of the runtime. It does not end if the
 * process was stopped until then and something that arrived in the meantime cancels it.
 */
export interface Deadlines {
  /** Calls `expire` after `ms`, unless the returned function is called before. */
  add(ms: number, expire: () => void): () => void
}

const TICK_MS = 20

export function createDeadlines(): Deadlines {
  /** By the number of the tick at which they end. */
  const ticks = new Map<number, Set<() => void>>()
  let timer: NodeJS.Timeout | null = null
  /** The tick at which the timer fires. It may be a cancelled one: a timer that is started anew each time costs more. */
  let timerTick = Infinity
  let passed = 0

  function startTimer(tick: number): void {
    if (tick >= timerTick) return
    if (timer !== null) clearTimeout(timer)
    timerTick = tick
    // The connection of a request keeps the process alive; the timer need not.
    timer = setTimeout(expireSoon, Math.max(0, tick * TICK_MS - performance.now())).unref()
  }

  /** Timers run before sockets are read, so the end of this turn of the event loop decides what is late. */
  function expireSoon(): void {
    const now = Math.floor(performance.now() / TICK_MS)
    setImmediate(() => expire(now))
  }

  function expire(now: number): void {
    timerTick = Infinity
    passed = Math.max(passed, now)
    for (const tick of [...ticks.keys()].filter((each) => each <= now).toSorted((a, b) => a - b)) {
      const due = ticks.get(tick)
      ticks.delete(tick)
      for (const each of due ?? []) each()
    }
    if (ticks.size > 0) startTimer(Math.min(...ticks.keys()))
  }

  return {
    add(ms, expireOne) {
      const tick = Math.max(Math.ceil((performance.now() + ms) / TICK_MS), passed + 1)
      const entry = (): void => expireOne()
      const set = ticks.get(tick) ?? new Set()
      ticks.set(tick, set.add(entry))
      startTimer(tick)
      return () => {
        set.delete(entry)
        if (set.size === 0 && ticks.get(tick) === set) ticks.delete(tick)
      }
    },
  }
}
