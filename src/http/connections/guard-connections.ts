import type { Server, Socket } from 'node:net'
import { type TLSSocket, Server as TlsServer } from 'node:tls'
import type { ConnectionGate } from '../../platform/queues/connection-gate.ts'

/**
 * Hides from an HTTP or HTTPS server all connections that don't pass the gate, before TLS and HTTP begin on them, and
 * makes their requests come from the address of the client.
 * @param onRefused Called after the connection of a network that has too many was closed.
 */
export function guardConnections<S extends Server>(server: S, gate: ConnectionGate, onRefused: () => void): S {
  const serve = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) =>
    gate.pass(socket, {
      enter(address) {
        // A TLS socket finds its client by the peer of this one.
        if (!(server instanceof TlsServer)) presentAs(socket, address)
        for (const listener of serve) Reflect.apply(listener, server, [socket])
      },
      refuse: onRefused,
    }),
  )
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    const address = gate.addressOf(socket)
    if (address !== null) presentAs(socket, address)
  })
  return server
}

function presentAs(socket: Socket, address: string): void {
  if (socket.remoteAddress !== address) Object.defineProperty(socket, 'remoteAddress', { value: address })
}
