import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type SecureContext, type TLSSocket, connect, createSecureContext } from 'node:tls'
import { reconnectDelayMs } from '../../../src/simulator/pace.ts'
import { KEY_EXCHANGE_GROUPS } from '../../../src/simulator/ucentral/gateway-link.ts'
import type { EnrolledDevice } from '../devices.ts'

// Access points that only connect, and reconnect as the real client does when they lose the gateway: a process of its own,
// which begins with the data that its parent sends.

export interface ClientsData {
  readonly port: number
  readonly ca: string
  readonly devices: readonly EnrolledDevice[]
}

/** The report that the process sends to its parent every 100 ms. */
export interface ClientsReport {
  readonly connected: number
  /** The number of failed attempts of all clients. */
  readonly failed: number
}

const STARTS_PER_S = 150
const REPORT_MS = 100
/**
 * The real client allows this time for the connection and TLS, and then the same for the answer to its upgrade request.
 */
const TLS_MS = 30_000
const ANSWER_MS = 5000
/**
 * If its upgrade request is not answered in time, an access point reconnects only when its watchdog restarts the
 * client.
 */
const WATCHDOG_MS = 300_000

const PING = 0x89
const CLOSE = 0x88
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0])

let connected = 0
let failed = 0

const REQUEST = [
  'GET / HTTP/1.1',
  'Host: gateway',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Protocol: ucentral-broker',
  `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
  '\r\n',
].join('\r\n')

/** Encodes one unfragmented text frame, masked by zeros. */
function frameOf(value: unknown): Buffer {
  const payload = Buffer.from(JSON.stringify(value))
  const header = Buffer.alloc(8)
  header.set([0x81, 0x80 | 126])
  header.writeUInt16BE(payload.length, 2)
  return Buffer.concat([header, payload])
}

function helloOf(mac: string): Buffer {
  const capabilities = { compatible: 'EAP101', model: 'EAP101', platform: 'ap' }
  return frameOf({
    jsonrpc: '2.0',
    method: 'connect',
    params: { serial: mac, uuid: 1, firmware: '1.0.0', capabilities },
  })
}

class Client {
  readonly #mac: string
  readonly #port: number
  readonly #identity: SecureContext
  #failures = 0

  constructor({ mac, certificatePem, keyPem }: EnrolledDevice, { port, ca }: ClientsData) {
    this.#mac = mac
    this.#port = port
    this.#identity = createSecureContext({ ca, cert: certificatePem, key: keyPem, ecdhCurve: KEY_EXCHANGE_GROUPS })
  }

  connect(): void {
    const socket = connect({ host: '127.0.0.1', port: this.#port, secureContext: this.#identity })
    let isOpen = false
    let isLost = false
    let deadline = setTimeout(() => socket.destroy(), TLS_MS)
    socket.once('secureConnect', () => {
      clearTimeout(deadline)
      socket.write(REQUEST)
      deadline = setTimeout(() => {
        isLost = true
        socket.destroy()
      }, ANSWER_MS)
    })
    socket.once('data', (data: Buffer) => {
      clearTimeout(deadline)
      isOpen = data.toString('latin1').startsWith('HTTP/1.1 101')
      if (isOpen) this.#open(socket)
      else socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.once('close', () => {
      clearTimeout(deadline)
      if (isOpen) connected -= 1
      else failed += 1
      this.#failures += 1
      setTimeout(() => this.connect(), isLost ? WATCHDOG_MS : reconnectDelayMs('ap', this.#failures, 1))
    })
  }

  /** Answers pings, and ends when the gateway does; no other message matters here. */
  #open(socket: TLSSocket): void {
    connected += 1
    this.#failures = 0
    socket.write(helloOf(this.#mac))
    socket.on('data', (frame: Buffer) => {
      if (frame[0] === CLOSE) socket.destroy()
      if (frame[0] === PING) socket.write(PONG)
    })
  }
}

async function start(data: ClientsData): Promise<void> {
  setInterval(() => process.send?.({ connected, failed } satisfies ClientsReport), REPORT_MS)
  for (const device of data.devices) {
    new Client(device, data).connect()
    await delay(1000 / STARTS_PER_S)
  }
}

process.once('message', (data: ClientsData) => void start(data))
process.once('disconnect', () => process.exit())
