import { createRunningClock } from './running-clock.ts'

/**
 * Many time-outs with one timer. A time-out ends up to a tick late and costs no object of the runtime. It does not end if the
 * process was stopped until then and something that arrived in the meantime cancels it. Of a time in which the process did
 * not run, a second counts: what it sends afterwards must not be late before the other side could have answered.
 */
export interface Deadlines {
  /** The time by which they end, since any moment. */
  nowMs(): number
  /** Calls `expire()` after `ms`, unless the deadline is cancelled before. */
  add(ms: number, expiring: Expiring): Deadline
}

/** An object, because a function would have to be made for each time-out. */
export interface Expiring {
  expire(): void
}

export interface Deadline {
  /** May be called again. */
  cancel(): void
}

/** The deadlines that end at a tick. */
interface Tick {
  readonly number: number
  readonly deadlines: Set<TickDeadline>
}

class TickDeadline implements Deadline {
  readonly expiring: Expiring
  readonly #tick: Tick
  readonly #ticks: Map<number, Tick>

  constructor(expiring: Expiring, tick: Tick, ticks: Map<number, Tick>) {
    this.expiring = expiring
    this.#tick = tick
    this.#ticks = ticks
    tick.deadlines.add(this)
  }

  cancel(): void {
    const { number, deadlines } = this.#tick
    deadlines.delete(this)
    if (deadlines.size === 0 && this.#ticks.get(number) === this.#tick) this.#ticks.delete(number)
  }
}

const TICK_MS = 20
/** The clock must be read more often than each second. */
const MAX_WAIT_MS = 500

export function createDeadlines(): Deadlines {
  const nowMs = createRunningClock()
  /** By the number of the tick at which they end. */
  const ticks = new Map<number, Tick>()
  let timer: NodeJS.Timeout | null = null
  /** The tick for which the timer waits. It may be a cancelled one: a timer that is started anew each time costs more. */
  let timerTick = Infinity
  let passed = 0

  function startTimer(tick: number): void {
    if (tick >= timerTick) return
    if (timer !== null) clearTimeout(timer)
    timerTick = tick
    // The connection of a request keeps the process alive; the timer need not.
    timer = setTimeout(expireSoon, Math.min(Math.max(0, tick * TICK_MS - nowMs()), MAX_WAIT_MS)).unref()
  }

  /** Timers run before sockets are read, so the end of this turn of the event loop decides what is late. */
  function expireSoon(): void {
    const now = Math.floor(nowMs() / TICK_MS)
    setImmediate(() => expire(now))
  }

  function expire(now: number): void {
    timerTick = Infinity
    passed = Math.max(passed, now)
    for (const number of [...ticks.keys()].filter((each) => each <= now).toSorted((a, b) => a - b)) {
      const due = ticks.get(number)
      ticks.delete(number)
      for (const { expiring } of due?.deadlines ?? []) expiring.expire()
    }
    if (ticks.size > 0) startTimer(Math.min(...ticks.keys()))
  }

  return {
    nowMs,
    add(ms, expiring) {
      const number = Math.max(Math.ceil((nowMs() + ms) / TICK_MS), passed + 1)
      const tick = ticks.get(number) ?? { number, deadlines: new Set() }
      ticks.set(number, tick)
      startTimer(number)
      return new TickDeadline(expiring, tick, ticks)
    },
  }
}
