import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import { type Api, type JsonObject, objectOf, refusal } from './api.ts'
import { CommandError } from './exit-codes.ts'

const STREAM_PATH = '/api-ws/v1/stream'
/** The maximum number of channels of a connection. */
export const MAX_CHANNELS = 2000
/** The server pings every 45 seconds. A connection that is silent for longer than two pings counts as lost. */
const SILENCE_MS = 100_000
const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 15_000

/** The channels that are followed. */
export interface Channels {
  /** Follows a further channel; the state is read again once it is subscribed. */
  add(channel: string): void
}

export interface StreamListener {
  readonly channels: readonly string[]
  onData(data: JsonObject, channel: string): void | Promise<void>
  /** Reads the present state. Called after the first subscription, and whenever changes may have been lost. */
  onGap(): void | Promise<void>
  /** Called when a connection or a channel is lost. */
  onLost(why: string): void
}

/**
 * Follows channels of the live stream until `signal` aborts, and resumes them after each loss of the connection. The
 * listener gets one message at a time.
 * @throws CommandError unavailable if the first connection fails; signedOut and refused at any time.
 */
export async function followStream(
  api: Api,
  listener: StreamListener,
  signal: AbortSignal,
  onStart: (channels: Channels) => void = () => {},
): Promise<void> {
  const follower = new Follower(listener)
  onStart(follower)
  for (let failures = 0; !signal.aborted; failures += 1) {
    const { wasOpen, why } = await follower.run(api, signal)
    if (signal.aborted) return
    if (!wasOpen && !follower.hasBegun) throw new CommandError('unavailable', `${api.url} does not answer: ${why}`)
    if (wasOpen) failures = 0
    if (failures === 0) listener.onLost(why)
    // The random part spreads the attempts of many clients.
    const waitMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** failures) * (0.5 + Math.random() / 2)
    await delay(waitMs, undefined, { signal }).catch(() => {})
  }
}

interface Ended {
  readonly wasOpen: boolean
  readonly why: string
}

class Follower implements Channels {
  readonly #listener: StreamListener
  /** Null while there is no open connection. */
  #socket: WebSocket | null = null
  /** The number of the last message of each channel; null before the first subscription. */
  readonly #seqs: Map<string, number | null>
  hasBegun = false

  constructor(listener: StreamListener) {
    this.#listener = listener
    this.#seqs = new Map(listener.channels.map((channel) => [channel, null]))
  }

  add(channel: string): void {
    if (this.#seqs.has(channel)) return
    this.#seqs.set(channel, null)
    this.#socket?.send(JSON.stringify({ subscribe: channel }))
  }

  /** Runs one connection to its end. */
  async run(api: Api, signal: AbortSignal): Promise<Ended> {
    const socket = api.openSocket(STREAM_PATH)
    const ended = Promise.withResolvers<Ended>()
    let wasOpen = false
    let why = ''
    let turn = Promise.resolve()
    const fail = (error: unknown): void => {
      ended.reject(error)
      socket.terminate()
    }
    const stop = (): void => socket.terminate()
    signal.addEventListener('abort', stop, { once: true })
    const silence = setTimeout(() => socket.terminate(), SILENCE_MS)
    for (const event of ['open', 'ping', 'message']) socket.on(event, () => silence.refresh())
    socket.on('open', () => {
      wasOpen = true
      this.hasBegun = true
      this.#socket = socket
      for (const [channel, after] of this.#seqs)
        socket.send(JSON.stringify({ subscribe: channel, ...(after !== null && { after }) }))
    })
    socket.on('message', (data: Buffer) => {
      turn = turn.then(() => this.#onMessage(socket, data)).catch(fail)
    })
    socket.on('unexpected-response', (_request, { statusCode = 0, statusMessage = '' }: IncomingMessage) => {
      why = `${statusCode} ${statusMessage}`
      // The server is busy or unavailable, so a later attempt may succeed.
      if (statusCode === 429 || statusCode >= 500) socket.terminate()
      else fail(refusal(statusCode, statusMessage, `GET ${STREAM_PATH}`))
    })
    socket.on('error', (error) => {
      if (why === '') why = error.message
    })
    socket.on('close', () => void turn.then(() => ended.resolve({ wasOpen, why: why || 'the connection ended' })))
    try {
      return await ended.promise
    } finally {
      clearTimeout(silence)
      this.#socket = null
      signal.removeEventListener('abort', stop)
    }
  }

  async #onMessage(socket: WebSocket, bytes: Buffer): Promise<void> {
    const { event, channel, seq, resumed, data, detail } = objectOf(JSON.parse(bytes.toString('utf8')))
    if (typeof channel !== 'string' || !this.#seqs.has(channel)) return
    const isFirst = this.#seqs.get(channel) === null
    if (typeof seq === 'number') this.#seqs.set(channel, seq)
    if (event === 'data') return this.#listener.onData(objectOf(data), channel)
    if (event === 'subscribe_failed') this.#drop(channel, typeof detail === 'string' ? detail : 'refused')
    // The state is read after the last of the first subscriptions, so that no change is missed in between.
    const isReady = isFirst && ![...this.#seqs.values()].includes(null)
    if (!isReady && event !== 'missed' && resumed !== false) return
    socket.pause()
    await this.#listener.onGap()
    socket.resume()
  }

  /** @throws CommandError refused if no channel is left. */
  #drop(channel: string, detail: string): void {
    this.#seqs.delete(channel)
    if (this.#seqs.size === 0) throw new CommandError('refused', `${channel}: ${detail}`)
    this.#listener.onLost(`${channel}: ${detail}`)
  }
}
