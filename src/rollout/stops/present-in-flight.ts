/** The limit that makes an audit record readable and small for any number of devices. */
const MAX_NAMED = 100

/** Presents the devices that a stop can no longer affect: how many there are, and the MACs of the first hundred. */
export function presentInFlight(macs: readonly string[]): { in_flight_total: number; in_flight: readonly string[] } {
  return { in_flight_total: macs.length, in_flight: macs.slice(0, MAX_NAMED) }
}
