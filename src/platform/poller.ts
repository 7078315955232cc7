import type { Context } from './context.ts'
import type { WakeName } from './wakes.ts'

export interface PollerOptions {
  /** Names the worker in the log. */
  readonly name: string
  readonly ctx: Pick<Context, 'wakes' | 'log' | 'clock'>
  readonly wake: WakeName
  /** Longest time between two runs: what a lost wake costs. */
  readonly intervalMs: number
  /** Shortest time between the starts of two runs, so that a burst of wakes shares one. */
  readonly minGapMs?: number
  /**
   * One round of work. True: there is more, run again. A date: run again then, at the latest. Else at
   * the next wake or interval. `signal` aborts when the poller stops.
   */
  readonly work: (signal: AbortSignal) => Promise<boolean | Date | null>
}

export interface Poller {
  /** Runs no more; resolves once the running round, if any, has ended. */
  stop(): Promise<void>
}

/** Pause after the n-th failed round in a row, doubled each time up to the last. */
const FIRST_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 30_000

/**
 * Runs `work` at once, then whenever woken and at the interval; never two rounds at a time. A round
 * that throws is logged and tried again after a growing pause, which wakes don't shorten.
 */
export function startPoller({ name, ctx, wake, intervalMs, minGapMs = 0, work }: PollerOptions): Poller {
  const stopping = new AbortController()
  const { signal } = stopping
  const log = ctx.log.child({ worker: name })
  let woken = false
  let interrupt: (() => void) | null = null
  const unsubscribe = ctx.wakes.on(wake, () => {
    woken = true
    interrupt?.()
  })

  function pause(ms: number, endsWith: 'wake' | 'stop'): Promise<void> {
    if (ms <= 0 || signal.aborted || (endsWith === 'wake' && woken)) return Promise.resolve()
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        interrupt = null
        resolve()
      }
      const timer = setTimeout(end, ms)
      signal.addEventListener('abort', end)
      if (endsWith === 'wake') interrupt = end
    })
  }

  async function loop(): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      woken = false
      const startedMs = performance.now()
      try {
        const next = await work(signal)
        failures = 0
        await pause(delayMs(next, ctx.clock.now(), intervalMs), 'wake')
        await pause(startedMs + minGapMs - performance.now(), 'stop')
      } catch (error) {
        failures += 1
        log.error({ err: error, failures }, 'round failed')
        await pause(Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), MAX_BACKOFF_MS), 'stop')
      }
    }
  }

  const done = loop()
  return {
    stop() {
      unsubscribe()
      stopping.abort()
      return done
    },
  }
}

function delayMs(next: boolean | Date | null, now: Date, intervalMs: number): number {
  if (next === true) return 0
  if (next instanceof Date) return Math.min(next.getTime() - now.getTime(), intervalMs)
  return intervalMs
}
