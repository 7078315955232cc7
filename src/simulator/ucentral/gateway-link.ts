import { type SecureContext, createSecureContext } from 'node:tls'
import { type ClientOptions, WebSocket } from 'ws'
import { type Pace, pingIntervalMs, reconnectDelayMs, watchdogMs } from '../pace.ts'

export interface LinkOptions {
  /** `wss://host:port/` */
  readonly url: string
  /** PEM of the CA that must have signed the gateway's certificate. */
  readonly ca: string
  /** PEM; its common name is the device's identity. */
  readonly certificatePem: string
  readonly keyPem: string
  readonly type: 'ap' | 'switch'
  readonly pace: Pick<Pace, 'timeScale' | 'answerWaitMs'>
}

/** Receives the events of a link. */
export interface LinkListener {
  onOpen(): void
  onText(text: string): void
  /** Called for lost connections and for failed attempts; `why` is for the log. */
  onDown(why: string): void
  /** Called when the watchdog has restarted the client. */
  onRestart(): void
}

/** The largest frame that the real clients accept. */
const maxFrameBytes = { ap: 31 * 1024, switch: 200_000 } as const
const HANDSHAKE_TIMEOUT_MS = 20_000
/** Real clients don't wait for the end of a closing handshake. */
const CLOSE_WAIT_MS = 1000
const GOING_AWAY = 1001
/** Those of OpenSSL 1.1.1 and 3.0, which real devices have: none of them offers a post-quantum group. */
export const KEY_EXCHANGE_GROUPS = 'X25519:P-256:X448:P-521:P-384'

/** One device's connection to the gateway. Until `disconnect` is called, it reconnects after each loss. */
export class GatewayLink {
  readonly #options: LinkOptions
  readonly #listener: LinkListener
  #socket: WebSocket | null = null
  #wanted = false
  #failures = 0
  #retry: NodeJS.Timeout | undefined
  #ping: NodeJS.Timeout | undefined
  #hangUp: NodeJS.Timeout | undefined
  #watchdog: NodeJS.Timeout | undefined
  /** True once the time of the watchdog has ended during an attempt to connect. */
  #isOverdue = false
  /** True while the client waits for its watchdog because its upgrade request got no answer. */
  #hasGivenUp = false
  /** Its key, which stays the same: reading it would cost as much as the rest of a handshake. */
  #context: SecureContext | undefined

  constructor(options: LinkOptions, listener: LinkListener) {
    this.#options = options
    this.#listener = listener
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN
  }

  /** Connects now, unless an attempt is already under way. */
  connect(): void {
    if (this.#wanted) return
    this.#wanted = true
    this.#begin()
  }

  /** Disconnects until `connect` is called. Messages sent before still arrive. */
  disconnect(): void {
    this.#wanted = false
    clearTimeout(this.#retry)
    clearTimeout(this.#watchdog)
    this.#close()
  }

  /** Breaks the connection without a close frame, like a broken line. */
  drop(): void {
    this.#socket?.terminate()
  }

  /** @returns False when there is no connection; nothing was sent. */
  send(text: string): boolean {
    if (this.#socket === null || this.#socket.readyState !== WebSocket.OPEN) return false
    this.#socket.send(text)
    return true
  }

  /** Starts the client. */
  #begin(): void {
    this.#failures = 0
    this.#hasGivenUp = false
    this.#isOverdue = false
    this.#watch()
    this.#open()
  }

  #watch(): void {
    const { type, pace } = this.#options
    const waitMs = watchdogMs(type, pace.timeScale)
    clearTimeout(this.#watchdog)
    if (waitMs !== null) this.#watchdog = setTimeout(() => this.#expire(), waitMs)
  }

  /**
   * The pace shortens the time of the watchdog, but not an attempt to connect, which takes as long as the server needs. So the
   * client is restarted when the attempt has failed: otherwise no device would ever reach a slow server.
   */
  #expire(): void {
    this.#isOverdue = this.#socket !== null
    if (!this.#isOverdue) this.#restart()
  }

  #restart(): void {
    clearTimeout(this.#retry)
    this.#listener.onRestart()
    this.#begin()
  }

  #open(): void {
    const { url, ca, certificatePem: cert, keyPem: key, type } = this.#options
    this.#context ??= createSecureContext({ ca, cert, key, ecdhCurve: KEY_EXCHANGE_GROUPS })
    // The type definitions of ws lack `secureContext`.
    const settings: ClientOptions & { secureContext: SecureContext } = {
      secureContext: this.#context,
      perMessageDeflate: false,
      maxPayload: maxFrameBytes[type],
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      // Real clients accept an answer without a subprotocol; with the constructor's argument ws would refuse it.
      headers: { 'Sec-WebSocket-Protocol': 'ucentral-broker' },
      finishRequest: (request) => {
        request.once('socket', (raw) => raw.once('secureConnect', () => this.#awaitAnswer(socket)))
        request.end()
      },
    }
    const socket = new WebSocket(url, settings)
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

  /** An access point that gets no answer to its upgrade request gives up until its watchdog restarts it. */
  #awaitAnswer(socket: WebSocket): void {
    if (this.#options.type !== 'ap') return
    const giveUp = setTimeout(() => {
      this.#hasGivenUp = socket === this.#socket
      socket.terminate()
    }, this.#options.pace.answerWaitMs)
    for (const event of ['open', 'close'] as const) socket.once(event, () => clearTimeout(giveUp))
  }

  #opened(socket: WebSocket): void {
    if (socket !== this.#socket) return
    this.#failures = 0
    this.#isOverdue = false
    clearTimeout(this.#watchdog)
    const intervalMs = pingIntervalMs(this.#options.type)
    this.#ping = setInterval(() => {
      socket.ping()
      this.#hangUp = setTimeout(() => socket.terminate(), intervalMs / 6)
    }, intervalMs)
    this.#listener.onOpen()
  }

  #closed(socket: WebSocket, why: string): void {
    if (socket !== this.#socket) return
    const wasOpen = this.#ping !== undefined
    this.#forget()
    this.#listener.onDown(why)
    if (!this.#wanted) return
    if (this.#isOverdue) {
      this.#restart()
      return
    }
    if (wasOpen) this.#watch()
    if (this.#hasGivenUp) return
    this.#failures += 1
    const delayMs = reconnectDelayMs(this.#options.type, this.#failures, this.#options.pace.timeScale)
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
    this.#ping = undefined
    clearTimeout(this.#hangUp)
  }
}
