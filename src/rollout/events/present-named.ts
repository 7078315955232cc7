/** The limit that makes an audit record or an answer readable and small for any number of devices; it counts the others. */
export const MAX_NAMED = 100

/** Presents devices by their number and the MACs of the first of them. */
export function presentMacs(macs: readonly string[]): { total: number; macs: string[] } {
  return { total: macs.length, macs: macs.slice(0, MAX_NAMED) }
}

/** Does the same for edge appliances, by their ids. */
export function presentMxedgeIds(ids: readonly string[]): { total: number; mxedge_ids: string[] } {
  return { total: ids.length, mxedge_ids: ids.slice(0, MAX_NAMED) }
}

/** Presents the devices that a stop can no longer affect: how many there are, and the MACs of the first of them. */
export function presentInFlight(macs: readonly string[]): { in_flight_total: number; in_flight: readonly string[] } {
  return { in_flight_total: macs.length, in_flight: macs.slice(0, MAX_NAMED) }
}
