import type { Socket } from 'node:net'
import type { Admission } from '../admission.ts'

/**
 * Connections that were admitted and are no sessions yet. Each has a deadline: its peer has proved little, and an access
 * point gives up 5 s after its upgrade request. If it is answered later than that, it does not connect again until its
 * watchdog restarts it after 5 minutes. When it sent the request is not known, but it was after TLS had begun.
 */
export interface Arrivals {
  add(socket: Socket, address: string): void
  /** TLS is up: another handshake may begin. */
  shakenHands(socket: Socket): void
  /** Its upgrade request is here. False, and the connection is destroyed, when the answer would come too late. */
  checkInTime(socket: Socket): boolean
  /** It is a session now. */
  remove(socket: Socket): void
  /** Destroys those that are past their deadline. */
  dropLate(): void
  dropAll(): void
}

export interface ArrivalsOptions {
  readonly admission: Admission
  readonly now: () => number
  /** From the beginning of TLS to the answer to the upgrade request. */
  readonly upgradeMs: number
  readonly onLate: (socket: Socket) => void
}

export function createArrivals({ admission, now, upgradeMs, onLate }: ArrivalsOptions): Arrivals {
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
  const isLate = (sinceMs: number): boolean => now() - sinceMs > upgradeMs
  const refuse = (socket: Socket): void => {
    sockets.delete(endpointOf(socket))
    onLate(socket)
    socket.destroy()
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
    checkInTime(socket) {
      const arrival = sockets.get(endpointOf(socket))
      if (arrival !== undefined && !isLate(arrival.sinceMs)) return true
      refuse(socket)
      return false
    },
    remove: (socket) => void sockets.delete(endpointOf(socket)),
    dropLate() {
      for (const { socket, sinceMs } of sockets.values()) if (isLate(sinceMs)) refuse(socket)
    },
    dropAll() {
      for (const { socket } of sockets.values()) socket.destroy()
    },
  }
}

function endpointOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`
}
