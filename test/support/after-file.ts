const ends: (() => unknown)[] = []

/**
 * Registers a function that is called once all tests of the file have ended, the last one first. Unlike `afterAll`, which Vitest ignores
 * there, it may be called by a hook.
 */
export function afterFile(end: () => unknown): void {
  ends.push(end)
}

/** Calls the registered functions, also after one that fails: what stays open would disturb the next files of the process. */
export async function endFile(): Promise<void> {
  const errors: unknown[] = []
  for (const end of ends.splice(0).toReversed())
    try {
      await end()
    } catch (error) {
      errors.push(error)
    }
  if (errors.length > 0) throw new AggregateError(errors, 'what the file has opened did not end')
}
