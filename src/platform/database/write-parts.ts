/**
 * Writes parts one after the other. Each is encoded while the database writes the one before it, so there are two in memory.
 * @param write Encodes and writes a part on the connection of the caller's transaction, which executes statements in order.
 * @throws The first error, also one of making or encoding a part, once nothing more can reach the database.
 */
export async function writeParts<T>(parts: Iterable<T>, write: (part: T) => Promise<unknown>): Promise<void> {
  let before: Promise<unknown> = Promise.resolve()
  let last = before
  try {
    for (const part of parts) {
      last = write(part)
      // It may fail while the one before it is awaited.
      last.catch(() => {})
      await before
      before = last
    }
    await before
  } catch (error) {
    await Promise.allSettled([before, last])
    throw error
  }
}
