import type { WebSocket } from 'ws'
import type { Caller } from '../../access/authorize.ts'
import { may } from '../../access/authorize.ts'
import type { PlaceScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import type { Channel } from './channel.ts'
import { type StreamRequest, decodeRequest } from './decode-request.ts'
import type { NamedChannel } from './find-channel.ts'
import { type Message, createMessage } from './history.ts'
import type { Hub, Listener } from './hub.ts'

/** The most channels of a connection; clients of the interface know this limit. */
const MAX_CHANNELS = 2000
/** A client that has this much yet to read is too slow. */
const MAX_UNREAD_BYTES = 1024 * 1024
/** Requests that wait for their turn; beyond that the client is not read from. */
const MAX_WAITING = 50
/** How long a client may take to read the remaining messages after the connection is closed. */
const CLOSE_MS = 30_000

/** Close codes of the stream. */
export const closeCodes = { goingAway: 1001, policy: 1008, tryAgain: 1013 } as const

export interface ConnectionParts {
  readonly ctx: Context
  readonly hub: Hub
  readonly find: (name: string) => NamedChannel | null
  readonly caller: Caller
  /** True for a client that expects the `data` of messages as a text of JSON. */
  readonly takesText: boolean
}

interface Subscription {
  readonly channel: Channel
  readonly scope: PlaceScope
}

/** One connection of a client to the stream. Requests are answered one after the other. */
export class StreamConnection implements Listener {
  readonly #socket: WebSocket
  readonly #parts: ConnectionParts
  #caller: Caller
  readonly #subscriptions = new Map<string, Subscription>()
  /** The scopes that the caller may listen to, by place and permission, until the next check. */
  readonly #scopes = new Map<string, PlaceScope>()
  #turn: Promise<void> = Promise.resolve()
  #waiting = 0
  #isAlive = true

  constructor(socket: WebSocket, parts: ConnectionParts) {
    this.#socket = socket
    this.#parts = parts
    this.#caller = parts.caller
    socket.on('message', (data: Buffer, isBinary: boolean) => this.#onRequest(isBinary ? '' : data.toString('utf8')))
    socket.on('pong', () => (this.#isAlive = true))
    // The close code reports the client's error.
    socket.on('error', () => {})
    socket.on('close', () => this.#forgetAll())
  }

  onMessage(_channel: string, message: Message): void {
    this.#send(this.#parts.takesText ? message.textual : message.text)
  }

  onMissed(channel: string, seq: number): void {
    this.#answer({ event: 'missed', channel, seq })
  }

  /** Ends the connection of a client that has not answered since the last call, and pings it otherwise. */
  ping(): void {
    if (!this.#isAlive) return this.#socket.terminate()
    this.#isAlive = false
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
  }

  /** Ends the subscriptions that the caller may no longer have. @param caller As authenticated again. */
  recheck(caller: Caller): void {
    this.#scopes.clear()
    this.#caller = caller
    for (const [name, { channel, scope }] of this.#subscriptions) {
      const { needs } = channel.at
      if (needs !== null && may(caller, scope, needs)) continue
      this.#forget(name)
      this.#answer({ event: 'subscribe_failed', channel: name, detail: 'You no longer have the permission' })
    }
  }

  close(code: number, reason: string): void {
    this.#forgetAll()
    this.#socket.close(code, reason)
    setTimeout(() => this.#socket.terminate(), CLOSE_MS).unref()
  }

  #onRequest(text: string): void {
    const request = decodeRequest(text)
    // It asks whether the connection is alive, not whether earlier requests are answered.
    if (request.kind === 'ping') return this.#answer({ event: 'pong' })
    this.#waiting += 1
    if (this.#waiting > MAX_WAITING) this.#socket.pause()
    this.#turn = this.#turn
      .then(() => this.#handle(request))
      .finally(() => {
        this.#waiting -= 1
        if (this.#waiting <= MAX_WAITING && this.#socket.isPaused) this.#socket.resume()
      })
  }

  async #handle(request: Exclude<StreamRequest, { kind: 'ping' }>): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    if (request.kind === 'malformed') return this.close(closeCodes.policy, request.why)
    const { channel } = request
    if (request.kind === 'subscribe') return this.#subscribe(channel, request.after)
    this.#forget(channel)
    this.#answer({ event: 'channel_unsubscribed', channel })
  }

  async #subscribe(name: string, after: number | null): Promise<void> {
    const { ctx, hub, find } = this.#parts
    const fail = (detail: string): void => this.#answer({ event: 'subscribe_failed', channel: name, detail })
    const named = find(name)
    if (named === null) return fail('There is no such channel')
    if (this.#subscriptions.size >= MAX_CHANNELS && !this.#subscriptions.has(name))
      return fail(`A connection has at most ${MAX_CHANNELS} channels`)
    const { channel, params } = named
    try {
      const scope = await this.#enter({ channel, params })
      // The client may have disconnected in the meantime.
      if (this.#socket.readyState !== this.#socket.OPEN) return
      this.#subscriptions.set(name, { channel, scope })
      const { seq, missed } = hub.subscribe({ name, orgId: scope.orgId, kinds: channel.kinds }, this, after)
      const resumed = after === null ? {} : { resumed: missed !== null }
      this.#answer({ event: 'channel_subscribed', channel: name, seq, ...resumed })
      for (const message of missed ?? []) this.onMessage(name, message)
      const recent = after === null ? await channel.recent?.(ctx, scope, params) : []
      for (const data of recent ?? [])
        this.onMessage(name, createMessage(seq, JSON.stringify({ event: 'data', channel: name, data, seq })))
    } catch (error) {
      if (error instanceof AppError) return fail(error.message)
      ctx.log.error({ err: error, channel: name }, 'a subscription to the stream failed')
      fail('The service could not check the permission. Try again')
    }
  }

  async #enter({ channel: { at }, params }: NamedChannel): Promise<PlaceScope> {
    const key = JSON.stringify([at.audience, at.needs, ...Object.keys(at.params).map((name) => params[name])])
    const known = this.#scopes.get(key)
    if (known !== undefined) return known
    const { scope } = await at.enter(this.#parts.ctx, this.#caller, params)
    this.#scopes.set(key, scope)
    return scope
  }

  #answer(message: Readonly<Record<string, unknown>>): void {
    this.#send(Buffer.from(JSON.stringify(message)))
  }

  #send(text: Buffer): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    const unread = this.#socket.bufferedAmount
    if (unread > 0 && unread + text.length > MAX_UNREAD_BYTES)
      return this.close(closeCodes.tryAgain, 'Too slow: connect again, and subscribe after the last seq')
    this.#socket.send(text, { binary: false })
  }

  #forget(name: string): void {
    if (this.#subscriptions.delete(name)) this.#parts.hub.unsubscribe(name, this)
  }

  #forgetAll(): void {
    for (const name of this.#subscriptions.keys()) this.#forget(name)
  }
}
