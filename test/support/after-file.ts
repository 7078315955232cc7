const ends: (() => unknown)[] = []

/**
 * Registers a function that is called once all tests of the file have ended, the last one first. Unlike `afterAll`, which Vitest ignores
 * there, it may be called by a hook.
 */
export function afterFile(end: () => unknown): void {
  ends.push(end)
}

/** Calls the registered functions. */
export async function endFile(): Promise<void> {
  for (const end of ends.splice(0).toReversed()) await end()
}
