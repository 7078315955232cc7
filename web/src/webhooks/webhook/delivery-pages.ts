/** How many deliveries are shown at first. */
export const SHOWN = 50
/** The most rows of a page of the API. */
const MOST = 1000

/**
 * Describes how many deliveries are shown, and whether older ones can be.
 * @param shown The number of rows that the page has, which are those of the former limit while more are read.
 */
export function describePages({ shown, total }: { readonly shown: number; readonly total: number }) {
  return {
    hasMore: shown < Math.min(MOST, total),
    end: total > MOST ? `Only the last ${MOST} are shown. Filters find older ones.` : 'All are shown.',
  }
}

export function nextLimit(limit: number): number {
  return Math.min(MOST, limit * 2)
}
