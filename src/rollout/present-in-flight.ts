/** An audit record stays readable, and small, however many devices there are. */
const MAX_NAMED = 100

/**
 * What the record of a stop says of the devices that can no longer be stopped: how many there are, and the MACs of the
 * first hundred.
 */
export function presentInFlight(macs: readonly string[]): { in_flight_total: number; in_flight: readonly string[] } {
  return { in_flight_total: macs.length, in_flight: macs.slice(0, MAX_NAMED) }
}
