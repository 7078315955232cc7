import type { RequestListener } from 'node:http'
import { byTime, createSlices } from '../../platform/queues/slices.ts'

/** A request that takes longer delays others anyway. */
const TURN_MS = 10
/** A connection may send thousands of requests before it reads an answer, and each that waits takes memory. */
const MAX_WAITING = 2000

/**
 * Returns a listener that begins requests in the order of their arrival for a few milliseconds of each turn of the event
 * loop, and the others in later turns. A turn reads all sockets that are ready, and a thousand devices that begin an
 * upgrade together ask for their images at the same time.
 */
export function beginByTurns(begin: RequestListener): RequestListener {
  const spend = byTime(() => performance.now())
  const slices = createSlices({ limit: TURN_MS, spend, atOnce: true, maxWaiting: MAX_WAITING })
  return (request, response) =>
    slices.run(() => {
      // A client may leave while its request waits. Its address is unknown then, and no event ends the request any more.
      if (!request.socket.destroyed) begin(request, response)
    })
}
