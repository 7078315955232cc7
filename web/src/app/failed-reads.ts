import { Problem } from '../api/problem.ts'

interface Query {
  readonly state: { readonly data: unknown; readonly error: Error | null }
  isActive(): boolean
}

/**
 * Returns why something on the page could not be read, or not again; null if everything could. Pages themselves say that
 * something does not exist, and for a missing session there is a dialog.
 */
export function failedReadText(queries: readonly Query[]): string | null {
  const failed = queries.find((query) => query.isActive() && isToBeSaid(query.state))
  const error = failed?.state.error
  if (error === undefined || error === null) return null
  return error instanceof Problem ? error.message.replace(/\.?$/, '.') : 'The page has met a defect.'
}

function isToBeSaid({ data, error }: Query['state']): boolean {
  if (!(error instanceof Problem)) return error !== null && data !== undefined
  if (error.status === 401 || error.status === 404) return false
  // The page shows a refusal of its content itself; choices and names that are beside it have no place for that.
  return data !== undefined || error.status >= 429 || error.status === 0
}
