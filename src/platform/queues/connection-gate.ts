import type { Socket } from 'node:net'
import { addressListOf, hasAddress } from '../outbound/address-list.ts'
import type { Logger } from '../log.ts'
import { networkOf } from '../outbound/network-of.ts'
import { createClientAddresses } from '../proxy-protocol/client-addresses.ts'

/** The connections that a port accepts. */
export interface ConnectionPolicy {
  /** Connections that one network may have open at a time; see networkOf(). */
  readonly maxPerNetwork: number
  /** Address ranges of reverse proxies: their connections are those of many clients and are not counted. */
  readonly uncounted?: readonly string[]
  /** Ranges of load balancers that send PROXY headers. */
  readonly balancers?: readonly string[]
}

/** A site has thousands of devices behind one address. */
export const defaultConnections: ConnectionPolicy = { maxPerNetwork: 20_000 }

export interface Passage {
  /** Admits the connection of a client with this address. */
  readonly enter: (address: string) => void
  /** Called after the connection of a network that has too many was closed. */
  readonly refuse?: (address: string) => void
}

/** The gate between a port and the server of its connections. */
export interface ConnectionGate {
  pass(socket: Socket, passage: Passage): void
  /** Returns the address of the client of a connection that has passed, or of the TLS socket upon it; null if it is closed. */
  addressOf(socket: Socket): string | null
}

interface Network {
  open: number
  hasWarned: boolean
}

/**
 * Bounds the connections of a single network: sockets cost memory and descriptors before their peer has proved
 * anything.
 */
export function createConnectionGate(policy: ConnectionPolicy, log: Logger): ConnectionGate {
  const networks = new Map<string, Network>()
  const uncounted = addressListOf(policy.uncounted ?? [])
  const clients = createClientAddresses({ balancers: policy.balancers ?? [], log })

  function count(socket: Socket, address: string): boolean {
    const name = networkOf(address)
    const network = networks.get(name) ?? { open: 0, hasWarned: false }
    if (network.open >= policy.maxPerNetwork) {
      if (!network.hasWarned)
        log.warn({ network: name, limit: policy.maxPerNetwork }, 'a network has too many connections')
      network.hasWarned = true
      return false
    }
    network.open += 1
    networks.set(name, network)
    // It is emitted once; `once` would keep another function for each connection.
    socket.on('close', () => {
      network.open -= 1
      if (network.open === 0) networks.delete(name)
    })
    return true
  }

  return {
    pass(socket, { enter, refuse }) {
      clients.read(socket, (address) => {
        if (hasAddress(uncounted, address) || count(socket, address)) return enter(address)
        socket.destroy()
        refuse?.(address)
      })
    },
    addressOf: (socket) => clients.of(socket),
  }
}
