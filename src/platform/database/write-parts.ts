/**
 * Writes parts one after the other. Each is encoded while the database writes the one before it, so there are two in memory.
 * @param write Encodes and writes a part on the connection of the caller's transaction, which executes statements in order.
 * @throws The first error, once nothing more can reach the database. No part is begun after it.
 */
export async function writeParts<T>(parts: Iterable<T>, write: (part: T) => Promise<unknown>): Promise<void> {
  let before: Promise<unknown> = Promise.resolve()
  for (const part of parts) {
    const writing = write(part)
    // It may fail while the one before it is awaited.
    writing.catch(() => {})
    await before.catch(async (error: unknown) => {
      await writing.catch(() => {})
      throw error
    })
    before = writing
  }
  await before
}
