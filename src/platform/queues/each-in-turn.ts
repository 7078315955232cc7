/**
 * Runs the parts of a chore one after the other. After a part that fails the others have their turn all the same, and then the
 * chore fails, so that it is repeated.
 *
 * @param onError Called for each part that fails; must log the error.
 * @throws Error if a part has failed; its cause is the first failure.
 */
export async function eachInTurn<T>(
  parts: readonly T[],
  run: (part: T) => Promise<void>,
  onError: (error: unknown, part: T) => void,
): Promise<void> {
  const failures: { readonly error: unknown }[] = []
  for (const part of parts)
    try {
      await run(part)
    } catch (error) {
      onError(error, part)
      failures.push({ error })
    }
  const [first] = failures
  if (first !== undefined) throw new Error(`${failures.length} of ${parts.length} parts failed`, { cause: first.error })
}
