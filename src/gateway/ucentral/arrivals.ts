import type { Socket } from 'node:net'
import type { Admission } from '../admission.ts'

/**
 * Connections that were admitted and are no sessions yet. Their peers have proved little: whatever they
 * send or leave unsaid, they get a deadline.
 */
export interface Arrivals {
  add(socket: Socket, address: string): void
  /** TLS is up: another handshake may begin. */
  shakenHands(socket: Socket): void
  /** It is a session now. */
  remove(socket: Socket): void
  /** Destroys those that were added before. */
  drop(beforeMs: number): void
}

export interface ArrivalsOptions {
  readonly admission: Admission
  readonly now: () => number
}

export function createArrivals({ admission, now }: ArrivalsOptions): Arrivals {
  /** By remote address and port, which the raw socket and the TLS socket on top of it share. */
  const sockets = new Map<string, { readonly socket: Socket; readonly sinceMs: number }>()
  /** Their addresses. */
  const handshakes = new Map<string, string>()
  const leave = (endpoint: string): void => {
    const address = handshakes.get(endpoint)
    if (address === undefined) return
    handshakes.delete(endpoint)
    admission.leave(address)
  }
  return {
    add(socket, address) {
      const endpoint = endpointOf(socket)
      handshakes.set(endpoint, address)
      sockets.set(endpoint, { socket, sinceMs: now() })
      socket.once('close', () => {
        sockets.delete(endpoint)
        leave(endpoint)
      })
    },
    shakenHands: (socket) => leave(endpointOf(socket)),
    remove: (socket) => void sockets.delete(endpointOf(socket)),
    drop(beforeMs) {
      for (const { socket, sinceMs } of sockets.values()) if (sinceMs < beforeMs) socket.destroy()
    },
  }
}

function endpointOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`
}
