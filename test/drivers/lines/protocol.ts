import { type AddressInfo, type Server, type Socket, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { deviceIdOf, parseMac } from '../../../src/devices/device.ts'
import {
  type CloseReason,
  type DeviceLink,
  type LinkCommand,
  NO_EPOCH,
  type SendResult,
} from '../../../src/gateway/links/device-link.ts'
import type { LinkHost, Listener, Protocol } from '../../../src/gateway/protocol.ts'
import { type LineMessages, lineDriver } from './driver.ts'

export const FAMILY = 'lines'

/** From the connection to the line with the hello. */
export const HELLO_MS = 5000

/** Lines of text over plain TCP. A device is not authenticated: this is not a protocol for a network. */
export const lines: Protocol = { family: FAMILY, listen }

interface Peer {
  readonly socket: Socket
  readonly openedAtMs: number
  /** Null until the device sends its hello. */
  link: LineLink | null
}

async function listen(host: LinkHost): Promise<Listener> {
  const peers = new Set<Peer>()
  const server = createServer((socket) => {
    const peer: Peer = { socket, openedAtMs: host.now(), link: null }
    peers.add(peer)
    void serve(host, peer).finally(() => peers.delete(peer))
  })
  const port = await open(server)
  return {
    port,
    look() {
      for (const { socket, link, openedAtMs } of peers)
        if (link === null && host.now() - openedAtMs >= HELLO_MS) socket.destroy()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const { socket, link } of peers) {
          if (link === null) socket.destroy()
          else link.close('restart')
        }
      }),
  }
}

function open(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // A listening TCP server has no other kind of address.
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

/** Handles the lines of a device one by one, until it leaves. */
async function serve(host: LinkHost, peer: Peer): Promise<void> {
  peer.socket.on('error', () => peer.socket.destroy())
  try {
    for await (const line of createInterface({ input: peer.socket })) await receive(host, peer, line)
  } catch {
    // The connection broke.
  }
  peer.socket.destroy()
  if (peer.link === null) return
  peer.link.isClosed = true
  host.onClosed(peer.link)
}

async function receive(host: LinkHost, peer: Peer, line: string): Promise<void> {
  const [word = '', first = '', ...rest] = line.split(' ')
  const text = rest.join(' ')
  if (peer.link !== null)
    return void (await host.onReply(peer.link, Number(first), (sent) => lineDriver.decodeReply(sent, { word, text })))
  const mac = parseMac(first)
  if (word !== 'hello' || mac === null) return void peer.socket.destroy()
  peer.link = new LineLink(peer.socket, mac)
  await host.connect(peer.link, factsOf({ mac, version: text }))
}

function factsOf(hello: LineMessages['hello']): Parameters<LinkHost['connect']>[1] {
  return {
    firmware: hello.version,
    model: 'test_model',
    type: 'gateway',
    capabilities: lineDriver.capabilitiesOf(hello),
    members: null,
    reason: null,
    ext_ip: null,
  }
}

class LineLink implements DeviceLink {
  readonly family = FAMILY
  readonly mac: string
  readonly deviceId: string
  readonly orgId = null
  epoch = NO_EPOCH
  isClosed = false
  readonly #socket: Socket

  constructor(socket: Socket, mac: string) {
    this.#socket = socket
    this.mac = mac
    this.deviceId = deviceIdOf(mac)
  }

  send({ callId, device, order }: LinkCommand): SendResult {
    const encoded = lineDriver.encode(device, order)
    if (encoded.kind === 'rejected') return encoded
    if (!this.#socket.writable) return { kind: 'unsent' }
    this.#socket.write(`do ${callId} ${encoded.call}\n`)
    return { kind: 'sent', timeoutMs: encoded.timeoutMs }
  }

  close(reason: CloseReason): void {
    this.#socket.end(`bye ${reason}\n`)
  }
}
