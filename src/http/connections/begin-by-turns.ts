import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { byTime, createSlices } from '../../platform/queues/slices.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Begins the requests that wait for their turn. */
    beginWaiting: () => void
  }
}

export interface RequestTurns {
  readonly listener: RequestListener
  /** Begins everything that waits. */
  readonly beginAll: () => void
}

/** A request that takes longer delays others anyway. */
const TURN_MS = 10
/** A connection may send thousands of requests before it reads an answer, and each that waits takes memory. */
const MAX_WAITING = 2000

/**
 * Begins requests for a few milliseconds of each turn of the event loop, and the others in later turns: connections in turn,
 * and the requests of each in the order of their arrival. A turn reads all sockets that are ready, and a thousand devices that
 * begin an upgrade together ask for their images at the same time.
 */
export function beginByTurns(begin: RequestListener): RequestTurns {
  const spend = byTime(() => performance.now())
  const slices = createSlices({ limit: TURN_MS, spend, atOnce: true, maxWaiting: MAX_WAITING })
  /** The connections in the order of their turns. */
  const waiting = new Map<Socket, [IncomingMessage, ServerResponse][]>()

  function beginNext(): void {
    const [next] = waiting
    if (next === undefined) return
    const [socket, requests] = next
    waiting.delete(socket)
    const first = requests.shift()
    // A client may leave while its requests wait. Its address is unknown then, and no event ends a request any more.
    if (first === undefined || socket.destroyed) return
    if (requests.length > 0) waiting.set(socket, requests)
    begin(...first)
  }

  return {
    listener(request, response) {
      const { socket } = request
      const ofSocket = waiting.get(socket)
      if (ofSocket === undefined) waiting.set(socket, [[request, response]])
      else ofSocket.push([request, response])
      slices.run(beginNext)
    },
    beginAll() {
      while (waiting.size > 0) beginNext()
    },
  }
}
