/**
 * The least of any number of values; Infinity for none. `Math.min(...values)` is a RangeError for about 125,000 of them, because
 * arguments are on the stack.
 */
export function leastOf(values: Iterable<number>): number {
  let least = Infinity
  for (const value of values) least = Math.min(least, value)
  return least
}

/** The greatest of any number of values; -Infinity for none. See leastOf(). */
export function greatestOf(values: Iterable<number>): number {
  let greatest = -Infinity
  for (const value of values) greatest = Math.max(greatest, value)
  return greatest
}

/** The earliest of some instants; null: there is none. */
export function earliest(dates: readonly (Date | null)[]): Date | null {
  return dates.reduce((first, date) => (date !== null && (first === null || date < first) ? date : first), null)
}
