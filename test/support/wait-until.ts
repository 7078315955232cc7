import { setTimeout as delay } from 'node:timers/promises'

const MIN_POLL_MS = 5
const MAX_POLL_MS = 50
/** Generous, because tests share the processors; a wait that succeeds takes no longer because of it. */
export const WITHIN_MS = 40_000
/** The longer the wait, the less often it polls, because the awaited work needs the processor too. */
const POLLS_PER_WAIT = 20

/**
 * Resolves with the first value that is neither null nor false.
 * @param what Says what is awaited; a function may add the last state, for a failure that can't be repeated.
 * @throws Error that names `what` if there is none within the time.
 */
export async function waitUntil<T>(
  what: string | (() => string),
  look: () => Promise<T | null | false> | T | null | false,
  withinMs = WITHIN_MS,
): Promise<T> {
  const startMs = performance.now()
  for (;;) {
    const value = await look()
    if (value !== null && value !== false) return value
    const waitedMs = performance.now() - startMs
    if (waitedMs > withinMs) throw new Error(`not within ${withinMs} ms: ${typeof what === 'string' ? what : what()}`)
    await delay(Math.min(Math.max(MIN_POLL_MS, waitedMs / POLLS_PER_WAIT), MAX_POLL_MS))
  }
}
