import { setImmediate as nextTurn } from 'node:timers/promises'

/** The longest delay of commands and messages by a visit to many links; a single visit may take longer. */
const SLICE_MS = 1
/** Reading the clock would cost more than most visits. */
const VISITS_PER_READ = 16

/**
 * Visits all links in slices, so that the event loop serves others in between. Links that end meanwhile are skipped if
 * `links` is the set or map that they leave.
 */
export async function visitAll<T>(links: Iterable<T>, visit: (link: T) => void): Promise<void> {
  let visits = 0
  let startMs = performance.now()
  for (const link of links) {
    visit(link)
    visits += 1
    if (visits % VISITS_PER_READ !== 0 || performance.now() - startMs < SLICE_MS) continue
    await nextTurn()
    startMs = performance.now()
  }
}
