import type { RequestListener } from 'node:http'

/** A request that takes longer delays others anyway. */
const TURN_MS = 10

/**
 * Returns a listener that begins requests in the order of their arrival for a few milliseconds of each turn of the event loop, and the
 * others in later turns. A turn reads all sockets that are ready, and a thousand devices that begin an upgrade together ask for
 * their images at the same time.
 * @param now In milliseconds.
 */
export function beginByTurns(begin: RequestListener, now: () => number = () => performance.now()): RequestListener {
  let waiting: (() => void)[] = []
  let turnEnd: NodeJS.Immediate | null = null
  let usedMs = 0

  function use(work: () => void): void {
    turnEnd ??= setImmediate(startTurn)
    const startMs = now()
    work()
    usedMs += now() - startMs
  }

  function startTurn(): void {
    turnEnd = null
    usedMs = 0
    let begun = 0
    for (const work of waiting) {
      if (usedMs >= TURN_MS) break
      use(work)
      begun += 1
    }
    waiting = waiting.slice(begun)
  }

  return (request, response) => {
    const work = (): void => begin(request, response)
    if (waiting.length === 0 && usedMs < TURN_MS) use(work)
    else waiting.push(work)
  }
}
