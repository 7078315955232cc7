import type { Socket } from 'node:net'
import { addressListOf, hasAddress } from '../outbound/address-list.ts'
import type { Logger } from '../log.ts'
import { parseProxyHeader, plainAddress } from './header.ts'

/** Determines the address that a connection comes from, also behind load balancers that speak the PROXY protocol. */
export interface ClientAddresses {
  /**
   * Calls back with the address of the client: immediately, unless the peer is such a balancer, whose header is read
   * first. Without a valid header in time the connection is closed.
   */
  read(socket: Socket, onKnown: (address: string) => void): void
  /** Returns the address of the client of a connection that was read, or of the TLS socket upon it; null if it is closed. */
  of(socket: Socket): string | null
}

export interface ClientAddressOptions {
  /**
   * Address ranges of the balancers, such as `10.0.0.0/8`. A header from any other peer is not trusted: it is read as a
   * request.
   */
  readonly balancers: readonly string[]
  readonly log: Logger
}

/** A balancer sends its header in the first packet. */
const HEADER_MS = 5000
/** The number of peers to remember after a warning; a few suffice to find a balancer that does not send the header. */
const MAX_WARNINGS = 16

export function createClientAddresses({ balancers, log }: ClientAddressOptions): ClientAddresses {
  const believed = addressListOf(balancers)
  /** By endpoint, which is the same for the raw socket and the TLS socket on top of it. */
  const addresses = new Map<string, string>()
  const warned = new Set<string>()

  function warn(peer: string): void {
    if (warned.has(peer) || warned.size >= MAX_WARNINGS) return
    warned.add(peer)
    log.warn(
      { peer },
      'a connection is closed: SIGNALBOX_PROXY_PROTOCOL_FROM contains its sender, which sent no PROXY header',
    )
  }

  function keep(socket: Socket, address: string): void {
    const endpoint = endpointOf(socket)
    addresses.set(endpoint, address)
    socket.once('close', () => addresses.delete(endpoint))
  }

  return {
    read(socket, onKnown) {
      const peer = peerOf(socket)
      // A socket that is already closed has no address.
      if (peer === null) return void socket.destroy()
      if (!hasAddress(believed, peer)) return onKnown(peer)
      readHeader(socket, (address) => {
        if (address === undefined) warn(peer)
        if (address === undefined || socket.destroyed) return void socket.destroy()
        if (address !== null) keep(socket, address)
        onKnown(address ?? peer)
      })
    },
    of: (socket) => addresses.get(endpointOf(socket)) ?? peerOf(socket),
  }
}

/** Calls back once: with undefined if the connection does not begin with a valid header in time. */
function readHeader(socket: Socket, onRead: (address: string | null | undefined) => void): void {
  let bytes: Buffer = Buffer.alloc(0)
  const end = (address: string | null | undefined): void => {
    clearTimeout(timer)
    socket.off('readable', read).off('end', stop).off('close', stop)
    onRead(address)
  }
  const stop = (): void => end(undefined)
  function read(): void {
    const chunk: Buffer | null = socket.read()
    if (chunk === null) return
    bytes = Buffer.concat([bytes, chunk])
    const header = parseProxyHeader(bytes)
    if (header.kind === 'incomplete') return
    if (header.kind === 'invalid') return stop()
    if (bytes.length > header.length) socket.unshift(bytes.subarray(header.length))
    end(header.address)
  }
  const timer = setTimeout(stop, HEADER_MS)
  // The socket may also fail while it waits for its next reader.
  socket.on('error', () => socket.destroy())
  socket.on('readable', read).once('end', stop).once('close', stop)
}

function peerOf({ remoteAddress }: Socket): string | null {
  return remoteAddress === undefined ? null : plainAddress(remoteAddress)
}

function endpointOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
