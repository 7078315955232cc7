import type { Context } from '../context.ts'
import { nameLateStop } from './late-stop.ts'
import { pause } from './pause.ts'
import type { WakeName } from '../database/wakes.ts'

export interface PollerOptions {
  /** Names the worker in the log. */
  readonly name: string
  readonly ctx: Pick<Context, 'wakes' | 'log' | 'clock'>
  /** The wake that triggers it besides `wake()`. Default: none. */
  readonly wake?: WakeName
  /** The longest time between two rounds, hence the delay that a lost wake causes. */
  readonly intervalMs: number
  /** Shortest time between the starts of two rounds, so that a burst of wakes shares one. */
  readonly minGapMs?: number
  /** So many ids are a full round, which ends that time. Default: no number is. */
  readonly fullAt?: number
  /** Longest pause after failed rounds. Default: half a minute. */
  readonly maxBackoffMs?: number
  /** The time of the first round. Default: immediately. */
  readonly first?: 'at once' | 'after the interval'
  /**
   * One round of work. True: there is more, run again. A date: run again at that time, at the latest. Otherwise at the
   * next wake or interval. `signal` aborts when the poller stops.
   *
   * @param ids The ids of the wakes since the last round. A failed round has consumed them.
   */
  readonly work: (signal: AbortSignal, ids: ReadonlySet<string>) => Promise<boolean | Date | null>
}

export interface Poller {
  /** Requests a round: immediately, or directly after the running one. */
  wake(): void
  /** Runs no more; resolves once the running round, if any, has ended. */
  stop(): Promise<void>
}

/** Pause after the n-th failed round in a row, doubled each time up to the last. */
const FIRST_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 30_000

/**
 * Runs `work` immediately, then at each wake and interval; never two rounds at a time. A round that throws is logged
 * and repeated after a growing pause, which wakes don't shorten.
 */
export function startPoller(options: PollerOptions): Poller {
  const { name, ctx, intervalMs, minGapMs = 0, fullAt = Infinity, maxBackoffMs = MAX_BACKOFF_MS, work } = options
  const stopping = new AbortController()
  const { signal } = stopping
  const log = ctx.log.child({ worker: name })
  let woken = new AbortController()
  let filled = new AbortController()
  let ids = new Set<string>()

  function wake(more: Iterable<string> = []): void {
    for (const id of more) ids.add(id)
    // A constant reason: creating an exception for each wake would cost more than the wake.
    woken.abort('woken')
    if (ids.size >= fullAt) filled.abort('filled')
  }

  /** @returns How long to wait for a wake. */
  async function round(): Promise<number> {
    const of = ids
    ids = new Set()
    woken = new AbortController()
    filled = new AbortController()
    return delayMs(await work(signal, of), ctx.clock.now(), intervalMs)
  }

  async function loop(): Promise<void> {
    if (options.first === 'after the interval') await pause(intervalMs, signal, woken.signal)
    for (let failures = 0; !signal.aborted;) {
      const startedMs = performance.now()
      try {
        const waitMs = await round()
        failures = 0
        await pause(waitMs, signal, woken.signal)
        await pause(startedMs + minGapMs - performance.now(), signal, filled.signal)
      } catch (error) {
        failures += 1
        log.error({ err: error, failures }, 'A round failed; trying again')
        await pause(Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), maxBackoffMs), signal)
      }
    }
  }

  const unsubscribe = options.wake === undefined ? null : ctx.wakes.on(options.wake, wake)
  const done = loop()
  return {
    wake: () => wake(),
    stop() {
      unsubscribe?.()
      stopping.abort()
      return nameLateStop(log, 'round', done)
    },
  }
}

function delayMs(next: boolean | Date | null, now: Date, intervalMs: number): number {
  if (next === true) return 0
  if (next instanceof Date) return Math.min(next.getTime() - now.getTime(), intervalMs)
  return intervalMs
}
