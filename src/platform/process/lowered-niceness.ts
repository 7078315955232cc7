import { constants } from 'node:os'

/** By how much: as for the decoders of pictures. */
const NICENESS = 10

/** Returns the niceness of work that yields to work of the given one, which answers clients and devices. */
export function loweredNiceness(niceness: number): number {
  return Math.min(niceness + NICENESS, constants.priority.PRIORITY_LOW)
}
