/**
 * Resolves after everything that waits for the event loop has had its turn. Long computations await it between their
 * parts, so that they delay nobody.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** A long computation: at each `yield` it may pause. */
export type Steps<T> = Generator<void, T, void>

/** A step that is longer delays others anyway; a shorter one is not worth a pause. */
const TURN_MS = 10

/** Runs a computation, and lets everything that waits for the event loop have its turn every few milliseconds. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (let since = performance.now(); ;) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (performance.now() - since < TURN_MS) continue
    await nextTurn()
    since = performance.now()
  }
}

/** A computation for an answer shares the thread with many answers, each of which needs several turns. */
const SHORT_TURN_MS = 2

/**
 * Does the same for a computation that mostly takes much less than a turn: then it is done when this returns.
 * @returns A promise if it is not.
 */
export function startTurns(steps: Steps<void>): Promise<void> | undefined {
  return isDoneWithin(SHORT_TURN_MS, steps) ? undefined : continueTurns(steps)
}

async function continueTurns(steps: Steps<void>): Promise<void> {
  do await nextTurn()
  while (!isDoneWithin(SHORT_TURN_MS, steps))
}

function isDoneWithin(ms: number, steps: Steps<void>): boolean {
  const since = performance.now()
  while (steps.next().done !== true) if (performance.now() - since >= ms) return false
  return true
}

const ITEMS_PER_STEP = 1000

/** Visits each item of a long list. @param perStep So few that their visits together take milliseconds at most. */
export function* visitInSteps<T>(items: Iterable<T>, visit: (item: T) => void, perStep = ITEMS_PER_STEP): Steps<void> {
  let visited = 0
  for (const item of items) {
    visit(item)
    visited += 1
    if (visited % perStep === 0) yield
  }
}

/** Runs a computation without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
