/** Why something could not be read, and the way to read it again. */
export interface LoadFailure {
  readonly problem: Error
  readonly retry: () => void
}

interface Query {
  readonly data: unknown
  readonly error: Error | null
  readonly refetch: () => unknown
}

/**
 * Returns the first failure among queries that have nothing to show, and a retry that repeats those; null if none failed. What was
 * read before stays, whether it could be read again or not.
 */
export function failureOf(queries: readonly Query[]): LoadFailure | null {
  const failed = queries.filter(({ data, error }) => data === undefined && error !== null)
  const problem = failed[0]?.error ?? null
  if (problem === null) return null
  return {
    problem,
    retry: () => {
      for (const query of failed) query.refetch()
    },
  }
}
