import { WebSocket } from 'ws'
import { errorCodes } from '../gateway/edge/messages.ts'
import {
  decodeFrame,
  encodeCall,
  encodeError,
  encodeNotification,
  encodeResult,
} from '../gateway/websockets/jsonrpc.ts'
import type { AnsweredCall, CommandBook } from './command-book.ts'
import type { Log } from './log.ts'
import type { OnPoint } from './points.ts'
import type { ProgressFeed } from './downloads/progress.ts'
import { type Credentials, namesOf } from './register.ts'
import type { Role } from './role.ts'
import { messageOf } from '../platform/message-of.ts'

export interface ConnectionOptions {
  readonly book: CommandBook
  readonly credentials: Credentials
  readonly renewal: ConnectionRenewal
  readonly role: Role
  readonly feed: ProgressFeed
  readonly version: string
  readonly log: Log
  readonly onPoint: OnPoint
  readonly signal: AbortSignal
}

/** Renews the certificate on a connection. */
export interface ConnectionRenewal {
  /** Called when the gateway has accepted the credentials. */
  readonly onWelcome: () => Promise<void>
  /** Returns a certificate request for a new key. */
  readonly request: () => Promise<string>
  /** Stores the next certificate, by which the next connection identifies itself. */
  readonly keep: (answer: unknown) => Promise<void>
}

/** Why a connection has ended. */
export interface Ended {
  readonly code: number
  readonly reason: string
  /** True if the gateway has accepted the agent's hello. */
  readonly wasWelcome: boolean
  /** True if the agent itself has ended the connection because of an error, such as one of its disk. */
  readonly hasFailed: boolean
}

const HELLO_ID = 1
const RENEW_ID = 2
const DEFAULT_INTERVAL_S = 60
const HANDSHAKE_TIMEOUT_MS = 30_000
/** The gateway pings every 50 s. */
const SILENCE_MS = 150_000
/** After a renewal that has failed. */
const RENEW_AGAIN_MS = 600_000
/** While commands run. */
const RENEW_LATER_MS = 5000
/** The longest time of a timer. */
const MAX_WAIT_MS = 2 ** 31 - 1
const MAX_FRAME_BYTES = 512 * 1024

/** Connects once, executes commands, and resolves when the connection has ended. Never rejects. */
export function runConnection(options: ConnectionOptions): Promise<Ended> {
  const { credentials, log, signal } = options
  const { host, port } = credentials.gateway
  const socket = new WebSocket(`wss://${host.includes(':') ? `[${host}]` : host}:${port}/`, {
    ca: credentials.ca,
    cert: credentials.certificate,
    key: credentials.key,
    perMessageDeflate: false,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    maxPayload: MAX_FRAME_BYTES,
  })
  const session = new AgentConnection(socket, options)
  return new Promise((resolve) => {
    const stop = (): void => socket.close(1000)
    signal.addEventListener('abort', stop)
    let problem = ''
    socket.on('error', (error) => (problem = error.message))
    socket.on('close', (code, reason) => {
      signal.removeEventListener('abort', stop)
      session.end()
      const { isWelcome: wasWelcome, hasFailed } = session
      const ended = { code, reason: reason.toString() || problem, wasWelcome, hasFailed }
      log('disconnected', ended)
      resolve(ended)
    })
  })
}

class AgentConnection {
  isWelcome = false
  hasFailed = false
  readonly #socket: WebSocket
  readonly #options: ConnectionOptions
  readonly #timers: NodeJS.Timeout[] = []
  #silence: NodeJS.Timeout | null = null
  #untilRenewal: NodeJS.Timeout | undefined
  #bootId = ''
  #stopListening: () => void = () => {}
  /** The commands whose answers the gateway has received once it answers the next ping. */
  #unconfirmed: string[] = []

  constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket
    this.#options = options
    socket.on('open', () => this.#run(this.#sayHello()))
    socket.on('message', (data: Buffer) => this.#receive(data.toString('utf8')))
    socket.on('pong', (data) => this.#run(this.#confirm(Number(data.toString()))))
    for (const sign of ['open', 'message', 'ping', 'pong'] as const) socket.on(sign, () => this.#expectSign())
  }

  end(): void {
    for (const timer of this.#timers) clearInterval(timer)
    if (this.#silence !== null) clearTimeout(this.#silence)
    clearTimeout(this.#untilRenewal)
    this.#stopListening()
  }

  async #sayHello(): Promise<void> {
    const { role, version, book } = this.#options
    this.#bootId = await role.bootId()
    const hello = { agent: version, ...(await role.hello()), commands: await book.openIds() }
    this.#send(encodeCall(HELLO_ID, 'hello', hello))
  }

  #receive(text: string): void {
    const frame = decodeFrame(text)
    if (frame.kind === 'reply' && frame.id === HELLO_ID) return this.#onWelcome(frame.result)
    if (frame.kind === 'reply' && frame.id === RENEW_ID) return this.#run(this.#onRenewal(frame))
    if (frame.kind === 'malformed')
      return this.#send(encodeError(null, { code: errorCodes.invalidRequest, message: frame.why }))
    if (frame.kind !== 'call' || frame.id === null) return
    const { id, method, params } = frame
    this.#run(this.#execute(id, method, params))
  }

  /** The gateway's data about the appliance has to be up to date when it learns that the command has ended. */
  async #execute(id: number, method: string, params: unknown): Promise<void> {
    const answered = await this.#options.book.handle({ id, method, params })
    if (this.#options.role.changing.has(method)) await this.#report()
    this.#answer(answered)
    await this.#reconnectAfterBoot()
  }

  #onWelcome(result: unknown): void {
    if (typeof result !== 'object' || result === null || !('interval_s' in result)) return this.#socket.close(1008)
    const intervalS = typeof result.interval_s === 'number' ? result.interval_s : DEFAULT_INTERVAL_S
    this.isWelcome = true
    this.#options.log('connected', namesOf(this.#options.credentials))
    const intervalMs = Math.min(3600, Math.max(1, intervalS)) * 1000
    this.#timers.push(setInterval(() => this.#run(this.#report()), intervalMs))
    this.#stopListening = this.#options.feed.listen((progress) => this.#send(encodeNotification('progress', progress)))
    if ('renew_in_s' in result && typeof result.renew_in_s === 'number') this.#renewIn(result.renew_in_s * 1000)
    this.#run(this.#confirmCertificate())
    this.#run(this.#answerAgain())
  }

  #renewIn(ms: number): void {
    clearTimeout(this.#untilRenewal)
    const nowMs = Math.min(ms, MAX_WAIT_MS)
    this.#untilRenewal = setTimeout(() => (ms > nowMs ? this.#renewIn(ms - nowMs) : this.#run(this.#renew())), nowMs)
  }

  /** The connection breaks afterwards, so it waits for commands that run. */
  async #renew(): Promise<void> {
    const { book, renewal } = this.#options
    if ((await book.openIds()).length > 0) return this.#renewIn(RENEW_LATER_MS)
    await this.#orRenewAgain(async () => {
      this.#send(encodeCall(RENEW_ID, 'renew', { csr: await renewal.request() }))
    })
  }

  #onRenewal({ result, error }: { readonly result: unknown; readonly error: unknown }): Promise<void> {
    return this.#orRenewAgain(async () => {
      if (error !== undefined) throw new Error(JSON.stringify(error))
      await this.#options.renewal.keep(result)
      this.#socket.close(1000, 'renewed')
    })
  }

  /** The present certificate counts on, so a step of the renewal that fails leaves the connection as it is. */
  async #orRenewAgain(step: () => Promise<void>): Promise<void> {
    try {
      await step()
    } catch (error) {
      this.#options.log('failed', { reason: `The certificate was not renewed: ${messageOf(error)}` })
      this.#renewIn(RENEW_AGAIN_MS)
    }
  }

  /** A certificate whose confirmation fails counts as well, and the next connection confirms it. */
  async #confirmCertificate(): Promise<void> {
    await this.#options.renewal.onWelcome().catch((error: unknown) => {
      this.#options.log('failed', { reason: `The former certificate was not replaced: ${messageOf(error)}` })
    })
  }

  async #report(): Promise<void> {
    // An uptime that began after the hello's boot would suggest that the boot changed nothing else.
    if (await this.#hasBooted()) return
    this.#send(encodeNotification('report', await this.#options.role.report()))
  }

  /** Sends the answers that the gateway may not have got on an earlier connection. */
  async #answerAgain(): Promise<void> {
    const { book } = this.#options
    if (await book.resume()) await this.#report()
    for (const answered of await book.undelivered()) this.#answer(answered)
    await this.#reconnectAfterBoot()
  }

  /** Only in a dry run does the process survive a reboot; it then has to send its hello again. */
  async #reconnectAfterBoot(): Promise<void> {
    if (await this.#hasBooted()) this.#socket.close(1001)
  }

  async #hasBooted(): Promise<boolean> {
    return (await this.#options.role.bootId()) !== this.#bootId
  }

  #answer({ callId, commandId, answer }: AnsweredCall): void {
    this.#send('result' in answer ? encodeResult(callId, answer.result) : encodeError(callId, answer.error))
    this.#options.onPoint('answer sent')
    if (commandId === '') return
    this.#unconfirmed.push(commandId)
    // Frames arrive in order, so an answered ping proves that the gateway has received all earlier frames.
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping(String(this.#unconfirmed.length))
  }

  async #confirm(count: number): Promise<void> {
    const confirmed = this.#unconfirmed.slice(0, count)
    for (const commandId of confirmed) await this.#options.book.recordDelivered(commandId)
  }

  #send(text: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text)
  }

  #expectSign(): void {
    if (this.#silence !== null) clearTimeout(this.#silence)
    this.#silence = setTimeout(() => this.#socket.terminate(), SILENCE_MS)
  }

  /** A full disk, for example: the connection ends, and the next one tries again. */
  #run(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.hasFailed = true
      this.#options.log('failed', { reason: messageOf(error) })
      this.#socket.terminate()
    })
  }
}
