import { AppError } from '../platform/errors.ts'

/** As much as one body may bring: without a bound of its own, a document would grow by every body. */
const MAX_CHARACTERS = 1024 * 1024

/**
 * Bodies as the interface's clients write them: an update replaces the top-level fields it names and
 * leaves the others; `"-field": ""` unsets a field, on creation as on update.
 *
 * @returns A new document; neither argument is changed.
 * @throws AppError too_large for more than a million characters of JSON.
 */
export function mergeDocument(
  before: Readonly<Record<string, unknown>>,
  change: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...before }
  for (const [key, value] of Object.entries(change)) {
    if (key.startsWith('-') && value === '') delete merged[key.slice(1)]
    else merged[key] = value
  }
  const { length } = JSON.stringify(merged)
  if (length > MAX_CHARACTERS)
    throw new AppError('too_large', `All fields together may have at most ${MAX_CHARACTERS} characters of JSON.`)
  return merged
}

/** The document without `names`: what the service itself decides (ids, times) is never taken from a client. */
export function omitFields(
  document: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(document).filter(([key]) => !names.includes(key)))
}
