/** The record of a delivery that has the payload of a message. */
export interface PayloadPlace {
  readonly deliveryId: string
  readonly at: Date
}

const DAY_MS = 24 * 3600e3

/**
 * True if a delivery at `at` can refer to the payload in that record. The records of a UTC day are deleted together, so the
 * payload stays as long as the record that refers to it.
 */
export function isOfSameDay(place: PayloadPlace, at: Date): boolean {
  return Math.floor(place.at.getTime() / DAY_MS) === Math.floor(at.getTime() / DAY_MS)
}
