import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 5

/**
 * Resolves with the first value that is neither null nor false.
 *
 * @throws Error naming `what` when there is none within the time.
 */
export async function waitUntil<T>(
  what: string,
  look: () => Promise<T | null | false> | T | null | false,
  withinMs = 10_000,
): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const value = await look()
    if (value !== null && value !== false) return value
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`)
    await delay(POLL_MS)
  }
}
