import { WebSocket } from 'ws'
import { pingIntervalMs, reconnectDelayMs } from './pace.ts'

export interface LinkOptions {
  /** `wss://host:port/` */
  readonly url: string
  /** PEM of the CA that the gateway's certificate must be of. */
  readonly ca: string
  /** PEM; its common name is the device's identity. */
  readonly certificatePem: string
  readonly keyPem: string
  readonly type: 'ap' | 'switch'
  readonly timeScale: number
}

/** What the owner of a link hears of it. */
export interface LinkListener {
  onOpen(): void
  onText(text: string): void
  /** `why` for the log. Called for failed attempts too. */
  onDown(why: string): void
}

/** The largest frame that the real clients take. */
const maxFrameBytes = { ap: 31 * 1024, switch: 200_000 } as const
const HANDSHAKE_TIMEOUT_MS = 20_000
/** Real clients don't wait for the end of a closing handshake. */
const CLOSE_WAIT_MS = 1000
const GOING_AWAY = 1001

/** One device's connection to the gateway, made anew when lost, for as long as it is wanted. */
export class GatewayLink {
  readonly #options: LinkOptions
  readonly #listener: LinkListener
  #socket: WebSocket | null = null
  #wanted = false
  #failures = 0
  #retry: NodeJS.Timeout | undefined
  #ping: NodeJS.Timeout | undefined
  #hangUp: NodeJS.Timeout | undefined

  constructor(options: LinkOptions, listener: LinkListener) {
    this.#options = options
    this.#listener = listener
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN
  }

  /** Connects now unless that is under way already. */
  want(): void {
    if (this.#wanted) return
    this.#wanted = true
    this.#failures = 0
    this.#open()
  }

  /** Disconnects, and stays so until wanted again. What was sent before still arrives. */
  unwant(): void {
    this.#wanted = false
    clearTimeout(this.#retry)
    this.#close()
  }

  /** Loses the connection without any good-bye, like a broken line. */
  drop(): void {
    this.#socket?.terminate()
  }

  /** False: there is no connection, the text is lost. */
  send(text: string): boolean {
    if (this.#socket === null || this.#socket.readyState !== WebSocket.OPEN) return false
    this.#socket.send(text)
    return true
  }

  #open(): void {
    const { url, ca, certificatePem, keyPem, type } = this.#options
    const socket = new WebSocket(url, {
      ca,
      cert: certificatePem,
      key: keyPem,
      perMessageDeflate: false,
      maxPayload: maxFrameBytes[type],
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      // Not as the constructor's argument: real clients offer it and accept that the server says nothing to it.
      headers: { 'Sec-WebSocket-Protocol': 'ucentral-broker' },
    })
    this.#socket = socket
    let why = 'closed'
    socket.on('upgrade', (response) => delete response.headers['sec-websocket-protocol'])
    socket.on('open', () => this.#opened(socket))
    socket.on('message', (data, isBinary) => {
      if (!isBinary && socket === this.#socket && Buffer.isBuffer(data)) this.#listener.onText(data.toString('utf8'))
    })
    socket.on('pong', () => clearTimeout(this.#hangUp))
    socket.on('error', (error) => (why = error.message))
    socket.on('close', (code) => this.#closed(socket, why === 'closed' ? `closed with ${code}` : why))
  }

  #opened(socket: WebSocket): void {
    if (socket !== this.#socket) return
    this.#failures = 0
    const intervalMs = pingIntervalMs(this.#options.type)
    this.#ping = setInterval(() => {
      socket.ping()
      this.#hangUp = setTimeout(() => socket.terminate(), intervalMs / 6)
    }, intervalMs)
    this.#listener.onOpen()
  }

  #closed(socket: WebSocket, why: string): void {
    if (socket !== this.#socket) return
    this.#forget()
    this.#listener.onDown(why)
    if (!this.#wanted) return
    this.#failures += 1
    const delayMs = reconnectDelayMs(this.#options.type, this.#failures, this.#options.timeScale)
    this.#retry = setTimeout(() => this.#open(), delayMs)
  }

  #close(): void {
    const socket = this.#socket
    if (socket === null) return
    this.#forget()
    socket.close(GOING_AWAY)
    const end = setTimeout(() => socket.terminate(), CLOSE_WAIT_MS)
    socket.once('close', () => clearTimeout(end))
    this.#listener.onDown('disconnected')
  }

  #forget(): void {
    this.#socket = null
    clearInterval(this.#ping)
    clearTimeout(this.#hangUp)
  }
}
