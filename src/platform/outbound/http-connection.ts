import type { OnReadOpts, Socket } from 'node:net'
import { type AnswerHead, HttpAnswerParser, type LastHead } from './answer-parser.ts'

/** Receives what happens to a request. The last call is onEnd() or onError(). */
export interface Exchange {
  onHead(head: AnswerHead): void
  /** Gets a part of the body. Its memory is used again after the call. */
  onBody(part: Buffer): void
  /** The status is known, and more of the answer is to come. */
  onPartly(): void
  onEnd(): void
  onError(error: Error): void
}

/** The connection ended before the answer to a request did. */
export class LostConnection extends Error {
  /** True if it had delivered another answer before, and nothing of this one. */
  readonly wasReused: boolean

  constructor(wasReused: boolean, cause: Error | null) {
    super(cause?.message ?? 'the connection was closed before the answer was complete', { cause })
    this.wasReused = wasReused
  }
}

const receivers = new WeakMap<Socket, (bytes: Buffer) => void>()

/**
 * Sockets with these options read into one buffer and pass what arrives to their HttpConnection: a stream would copy it and
 * cost several times as much as the parser.
 */
export const directReads: OnReadOpts = {
  buffer: Buffer.allocUnsafeSlow(64 * 1024),
  callback(this: Socket, count, bytes) {
    const part = Buffer.from(bytes.buffer, bytes.byteOffset, count)
    const receive = receivers.get(this)
    if (receive === undefined) return this.push(Buffer.from(part))
    receive(part)
    return true
  },
}

interface HttpConnectionOptions {
  readonly socket: Socket
  /** The address at the other end; null if it is not that of the request. */
  readonly remoteAddress: string | null
  /** Shared by the connections of an origin. */
  readonly lastHead: LastHead
  /** Called when an answer has ended and the connection may be used again, for `keepMs`. */
  readonly onIdle: (keepMs: number) => void
  readonly onClose: () => void
}

/** A connection that carries one request of HTTP/1.1 at a time. */
export class HttpConnection {
  readonly remoteAddress: string | null
  readonly #socket: Socket
  readonly #options: HttpConnectionOptions
  #exchange: Exchange | null = null
  #parser: HttpAnswerParser | null = null
  #answers = 0
  #error: Error | null = null
  #isClosed = false

  constructor(options: HttpConnectionOptions) {
    const { socket, remoteAddress } = options
    this.remoteAddress = remoteAddress
    this.#options = options
    this.#socket = socket
    const receive = (bytes: Buffer): void => this.#receive(bytes)
    receivers.set(socket, receive)
    // Gets what arrived before, and everything that comes through the tunnel of a proxy.
    socket.on('data', receive)
    socket.on('end', () => this.#end())
    socket.on('error', (error) => (this.#error ??= error))
    socket.on('close', () => this.#close())
  }

  /** True if it can carry a request. Otherwise the next request would continue one that is not sent completely. */
  get isFree(): boolean {
    const { destroyed, writable, writableLength } = this.#socket
    return !destroyed && writable && writableLength === 0
  }

  /** Sends a request. The one before must have ended. */
  send(request: readonly Buffer[], exchange: Exchange): void {
    this.#exchange = exchange
    this.#parser = new HttpAnswerParser(exchange, this.#options.lastHead)
    if (request.length > 1) this.#socket.cork()
    for (const part of request) this.#socket.write(part)
    if (request.length > 1) this.#socket.uncork()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #receive(bytes: Buffer): void {
    const parser = this.#parser
    if (parser === null) {
      // Nobody asked for it, and it could be taken for the answer to the next request.
      this.destroy()
      return
    }
    try {
      parser.push(bytes)
    } catch (error) {
      this.#error ??= error instanceof Error ? error : new Error(String(error))
      this.destroy()
      return
    }
    if (parser.isComplete) this.#complete(parser)
    else if (parser.hasHead) this.#exchange?.onPartly()
  }

  #complete({ keepMs }: HttpAnswerParser): void {
    const exchange = this.#exchange
    this.#exchange = null
    this.#parser = null
    this.#answers += 1
    if (keepMs === 0) this.destroy()
    else if (!this.#socket.destroyed) this.#options.onIdle(keepMs)
    exchange?.onEnd()
  }

  #end(): void {
    const parser = this.#parser
    if (parser?.end() === true) this.#complete(parser)
    this.destroy()
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#options.onClose()
    const exchange = this.#exchange
    const hasBegun = this.#parser?.hasBegun === true
    this.#exchange = null
    this.#parser = null
    if (hasBegun && this.#error !== null) exchange?.onError(this.#error)
    else exchange?.onError(new LostConnection(this.#answers > 0 && !hasBegun, this.#error))
  }
}
