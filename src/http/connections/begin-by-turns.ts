import type { RequestListener } from 'node:http'
import { byTime, createSlices } from '../../platform/queues/slices.ts'

/** A request that takes longer delays others anyway. */
const TURN_MS = 10

/**
 * Returns a listener that begins requests in the order of their arrival for a few milliseconds of each turn of the event
 * loop, and the others in later turns. A turn reads all sockets that are ready, and a thousand devices that begin an
 * upgrade together ask for their images at the same time.
 */
export function beginByTurns(begin: RequestListener): RequestListener {
  const slices = createSlices({ limit: TURN_MS, spend: byTime(() => performance.now()), atOnce: true })
  return (request, response) => slices.run(() => begin(request, response))
}
