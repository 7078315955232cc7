import type { Server, Socket } from 'node:net'
import { type TLSSocket, Server as TlsServer } from 'node:tls'
import { addressListOf, hasAddress } from '../platform/address-list.ts'
import type { Logger } from '../platform/log.ts'
import { networkOf } from '../platform/network-of.ts'
import type { ClientAddresses } from '../platform/proxy-protocol/client-addresses.ts'

export interface ConnectionOptions {
  readonly clients: ClientAddresses
  /** Open connections from one network; more are closed at once. */
  readonly maxPerNetwork: number
  /** Ranges of reverse proxies, whose connections are those of many clients and count for none. */
  readonly trustedProxies: readonly string[]
  readonly log: Logger
}

/** The default of `maxPerNetwork`: many people may share one address. */
export const MAX_PER_NETWORK = 1000

/** Who has been warned of; a few suffice to find who opens too many. */
const MAX_WARNINGS = 16

/**
 * Makes an HTTP or HTTPS server know its clients by the addresses that `clients` tells, and bounds how many connections
 * each network has. It takes the place of the server's own listeners for connections, which it calls afterwards.
 */
export function guardConnections(
  server: Server,
  { clients, maxPerNetwork, trustedProxies, log }: ConnectionOptions,
): void {
  const proxies = addressListOf(trustedProxies)
  const counts = new Map<string, number>()
  const warned = new Set<string>()
  const accept = server.listeners('connection')
  server.removeAllListeners('connection')

  /** Returns false where the network has as many connections as it may have. */
  function enter(socket: Socket, address: string): boolean {
    if (hasAddress(proxies, address)) return true
    const network = networkOf(address)
    const count = counts.get(network) ?? 0
    if (count >= maxPerNetwork) {
      if (!warned.has(network) && warned.size < MAX_WARNINGS) {
        warned.add(network)
        log.warn({ network, connections: count }, 'connections are closed: their network has as many as it may have')
      }
      return false
    }
    counts.set(network, count + 1)
    socket.once('close', () => {
      const left = (counts.get(network) ?? 1) - 1
      if (left === 0) counts.delete(network)
      else counts.set(network, left)
    })
    return true
  }

  server.on('connection', (socket: Socket) =>
    clients.read(socket, (address) => {
      if (!enter(socket, address)) return void socket.destroy()
      // A TLS socket finds its client by the peer of this one.
      if (!(server instanceof TlsServer)) presentAs(socket, address)
      for (const listener of accept) listener.call(server, socket)
    }),
  )
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    const address = clients.of(socket)
    if (address !== null) presentAs(socket, address)
  })
}

function presentAs(socket: Socket, address: string): void {
  if (socket.remoteAddress !== address) Object.defineProperty(socket, 'remoteAddress', { value: address })
}
