/**
 * Resolves after everything that waits for the event loop has had its turn. Long computations await it between their
 * parts, so that they delay nobody.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
