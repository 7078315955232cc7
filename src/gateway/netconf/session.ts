import type { Allowance } from '../admission/allowance.ts'
import type { Turns } from '../admission/turns.ts'
import { FrameDecoder, type Framing, encodeMessage } from './framing.ts'
import { type RpcReply, decodeHello, decodeRpcReply, encodeHello, encodeRpc } from './rpc.ts'
import type { SshConnection } from './ssh.ts'
import type { TaskCall } from './task.ts'
import { type XmlElement, parseXml } from './xml.ts'
import { messageOf } from '../../platform/message-of.ts'

/** The largest message; the replies to the gateway's requests have a few kilobytes per member. */
const MAX_MESSAGE_BYTES = 512 * 1024
const MAX_ID = 999_999_999
/** A longer time reveals little about the message: its code was not compiled yet, or memory was being freed. */
const MAX_DECODE_MS = 20

export interface SessionOptions {
  readonly now: () => number
  readonly turns: Turns
  readonly allowance: Allowance
  /** Called once, when nothing can be sent or received any more. */
  readonly onClosed: () => void
  /** The device sent an invalid message. The session is being closed. */
  readonly onBroken: (why: string) => void
}

interface Request {
  readonly id: number
  readonly dueMs: number
  readonly resolve: (reply: RpcReply) => void
}

/**
 * NETCONF on an open channel: one request at a time. A device sends only replies, so any other message ends the
 * session, and its messages can't fill a queue.
 */
export class NetconfSession {
  isClosed = false
  readonly #connection: SshConnection
  readonly #options: SessionOptions
  readonly #decoder = new FrameDecoder(MAX_MESSAGE_BYTES)
  readonly #hello = Promise.withResolvers<boolean>()
  #framing: Framing = 'end_of_message'
  #hasGreeted = false
  #lastId = 0
  #request: Request | null = null
  #isDraining = false

  constructor(connection: SshConnection, options: SessionOptions) {
    this.#connection = connection
    this.#options = options
    const { channel } = connection
    channel.on('data', (bytes: Buffer) => this.#receive(bytes))
    channel.stderr.resume()
    channel.on('error', () => this.close())
    channel.on('close', () => this.close())
    channel.write(encodeMessage(encodeHello(), 'end_of_message'))
  }

  /** Resolves with true when both sides have sent their hello; with false if the device never does. */
  get ready(): Promise<boolean> {
    return this.#hello.promise
  }

  /** True when the device is late with its reply: the session can't be used any more. */
  isLate(nowMs: number): boolean {
    return this.#request !== null && nowMs >= this.#request.dueMs
  }

  /** Sends a request when the former one is answered. Never rejects. */
  request({ rpc, timeoutMs }: Pick<TaskCall, 'rpc' | 'timeoutMs'>): Promise<RpcReply> {
    if (this.isClosed) return Promise.resolve({ kind: 'broken' })
    if (this.#request !== null) throw new Error('a request is sent before the former one is answered')
    this.#lastId = this.#lastId >= MAX_ID ? 1 : this.#lastId + 1
    const id = this.#lastId
    return new Promise((resolve) => {
      this.#request = { id, dueMs: this.#options.now() + timeoutMs, resolve }
      this.#connection.channel.write(encodeMessage(encodeRpc(id, rpc), this.#framing))
    })
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#connection.end()
    this.#hello.resolve(false)
    const request = this.#request
    this.#request = null
    request?.resolve({ kind: 'broken' })
    this.#options.onClosed()
  }

  #receive(bytes: Buffer): void {
    if (this.isClosed) return
    this.#decoder.push(bytes)
    if (!this.#isDraining) void this.#drain()
  }

  /** Never rejects. */
  async #drain(): Promise<void> {
    this.#isDraining = true
    try {
      for (let message = this.#decoder.next(); message !== null; message = this.#decoder.next()) {
        const text = message
        this.#options.allowance.spend({ frames: 1 }, this.#options.now())
        const root = await this.decode(() => parseXml(text))
        if (this.isClosed) return
        this.#handle(root)
      }
    } catch (error) {
      this.#break(messageOf(error))
    }
    this.#isDraining = false
  }

  /** Decodes something that the device has sent when it is its turn, at the cost of its allowance. */
  decode<T>(work: () => T): Promise<T> {
    const { allowance, now, turns } = this.#options
    return turns.run(() => {
      // Processor time: a session is closed for its cost, which must not depend on the load of the computer.
      const before = process.threadCpuUsage()
      try {
        return work()
      } finally {
        const { user, system } = process.threadCpuUsage(before)
        allowance.spend({ decodeMs: Math.min(MAX_DECODE_MS, (user + system) / 1000) }, now())
      }
    })
  }

  #handle(root: XmlElement): void {
    if (!this.#hasGreeted) return this.#greet(root)
    const answer = decodeRpcReply(root)
    const request = this.#request
    if (answer === null || request === null || answer.id !== request.id)
      return this.#break('it sent a message that answers no request')
    this.#request = null
    request.resolve(answer.reply)
  }

  #greet(root: XmlElement): void {
    const hello = decodeHello(root)
    if (hello === null) return this.#break('it sends no hello')
    this.#hasGreeted = true
    if (hello.isChunked) {
      this.#framing = 'chunked'
      this.#decoder.setFraming('chunked')
    }
    this.#hello.resolve(true)
  }

  #break(why: string): void {
    if (this.isClosed) return
    this.#options.onBroken(why)
    this.close()
  }
}
