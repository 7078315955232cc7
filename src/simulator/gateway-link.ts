import { WebSocket } from 'ws'
import { type Pace, pingIntervalMs, reconnectDelayMs, watchdogMs } from './pace.ts'

export interface LinkOptions {
  /** `wss://host:port/` */
  readonly url: string
  /** PEM of the CA that the gateway's certificate must be of. */
  readonly ca: string
  /** PEM; its common name is the device's identity. */
  readonly certificatePem: string
  readonly keyPem: string
  readonly type: 'ap' | 'switch'
  readonly pace: Pick<Pace, 'timeScale' | 'answerWaitMs'>
}

/** What the owner of a link hears of it. */
export interface LinkListener {
  onOpen(): void
  onText(text: string): void
  /** `why` for the log. Called for failed attempts too. */
  onDown(why: string): void
  /** The watchdog has started the client anew. */
  onRestart(): void
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
  #watchdog: NodeJS.Timeout | undefined
  /** The client waits for its watchdog, as it does when an upgrade request was not answered. */
  #hasGivenUp = false

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
    this.#begin()
  }

  /** Disconnects, and stays so until wanted again. What was sent before still arrives. */
  unwant(): void {
    this.#wanted = false
    clearTimeout(this.#retry)
    clearTimeout(this.#watchdog)
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

  /** The client starts. */
  #begin(): void {
    this.#failures = 0
    this.#hasGivenUp = false
    this.#watch()
    this.#open()
  }

  #watch(): void {
    const { type, pace } = this.#options
    const waitMs = watchdogMs(type, pace.timeScale)
    clearTimeout(this.#watchdog)
    if (waitMs !== null) this.#watchdog = setTimeout(() => this.#restart(), waitMs)
  }

  #restart(): void {
    clearTimeout(this.#retry)
    const socket = this.#socket
    this.#forget()
    socket?.terminate()
    this.#listener.onRestart()
    this.#begin()
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
      finishRequest: (request) => {
        request.once('socket', (raw) => raw.once('secureConnect', () => this.#awaitAnswer(socket)))
        request.end()
      },
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

  /** An access point that gets no answer to its upgrade request gives up, until its watchdog starts it anew. */
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
