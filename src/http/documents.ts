/**
 * Bodies as the interface's clients write them: an update replaces the top-level fields it names and
 * leaves the others; `"-field": ""` unsets a field, on creation as on update.
 *
 * @returns A new document; neither argument is changed.
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
  return merged
}

/** The document without `names`: what the service itself decides (ids, times) is never taken from a client. */
export function omitFields(
  document: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(document).filter(([key]) => !names.includes(key)))
}
