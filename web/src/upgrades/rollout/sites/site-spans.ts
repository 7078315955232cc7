/** When a site began, or is to begin, and when it ended. */
export interface SiteTimes {
  readonly siteId: string
  readonly start: number | undefined
  readonly end: number | undefined
}

/** A part of the time that all sites take, as shares from 0 to 1. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A site that has just begun is still to be seen. */
const LEAST = 0.01

/** Returns what part of the whole time each site takes; one that has not ended lasts until now. */
export function spanSites(sites: readonly SiteTimes[], nowS: number): ReadonlyMap<string, Span> {
  const times = sites.flatMap(({ siteId, start, end }) =>
    start === undefined ? [] : [{ siteId, start, end: end ?? Math.max(start, nowS) }],
  )
  const first = Math.min(...times.map(({ start }) => start))
  const last = Math.max(...times.map(({ end }) => end))
  const whole = Math.max(1, last - first)
  return new Map(
    times.map(({ siteId, start, end }) => {
      const from = Math.min((start - first) / whole, 1 - LEAST)
      return [siteId, { from, to: Math.max((end - first) / whole, from + LEAST) }]
    }),
  )
}
