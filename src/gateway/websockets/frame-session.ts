import type { Duplex } from 'node:stream'
import type { RawData } from 'ws'
import type { Allowance, Cost } from '../admission/allowance.ts'
import { closeCodes } from './close-codes.ts'
import { type Frame, type PackedCall, decodeEnvelope } from './jsonrpc.ts'
import type { Turns } from '../admission/turns.ts'
import type { SessionSocket } from './session-socket.ts'
import type { Peer } from './websocket-server.ts'

/** With more unsent bytes the device is not reading, and further writes would only fill our memory. */
const MAX_BUFFERED_BYTES = 1024 * 1024
/** When either limit is reached, the socket is not read until the session has caught up. */
const MAX_QUEUED = 16
const MAX_QUEUED_BYTES = 256 * 1024
/** A session that has waited for its allowance for this long without catching up sends too much. */
const MAX_WAIT_MS = 5000
/** The cost of an unreadable frame: a device that sends only such frames is broken or hostile. */
const MALFORMED: Cost = { frames: 50 }
/** A longer time reveals nothing about the frame: the computer was suspended or busy. */
const MAX_DECODE_MS = 20

export type DeviceCall = Extract<Frame, { kind: 'call' }>
export type DeviceReply = Extract<Frame, { kind: 'reply' }>

/** The interface of the gateway to its sessions. */
export interface FrameHost {
  readonly now: () => number
  readonly turns: Turns
}

export interface FramePeer extends Peer<unknown> {
  readonly allowance: Allowance
}

/** A frame with the number of bytes that were inflated to read it. */
export interface UnpackedFrame {
  readonly frame: Frame
  readonly inflatedBytes: number
}

interface RawFrame {
  readonly data: Buffer
  readonly isBinary: boolean
}

/**
 * One WebSocket of JSON-RPC frames. The session decodes and handles messages one by one and in order. When the device's
 * allowance is spent, the session does not read the socket until some has refilled.
 */
export abstract class FrameSession {
  readonly address: string | null
  readonly openedAtMs: number
  /** When the device was last known to be alive. */
  heardAtMs: number
  pingedAtMs: number
  isClosed = false
  /** True once the device has sent a message that we drop; only the first one is logged as a warning. */
  isOdd = false
  readonly #socket: SessionSocket
  readonly #stream: Duplex
  readonly #host: FrameHost
  readonly #allowance: Allowance
  #queue: RawFrame[] = []
  #queuedBytes = 0
  #draining: Promise<void> | null = null
  /** Settles when messages that wait for the allowance are handled on, or dropped; null if nothing waits for that. */
  #resumed: PromiseWithResolvers<void> | null = null
  /** True once we have closed the session; later messages are ignored. */
  #isEnded = false
  /** The start of the current wait for the allowance; null if the session has not waited since the last `look`. */
  #waitingSinceMs: number | null = null
  #hasWaited = false
  #isFlooding = false
  #hasSpoken = false

  constructor(socket: SessionSocket, peer: FramePeer, host: FrameHost) {
    this.#socket = socket
    this.#stream = peer.stream
    this.#host = host
    this.#allowance = peer.allowance
    this.address = peer.address
    this.openedAtMs = this.heardAtMs = this.pingedAtMs = host.now()
    // All bytes count, because bytes that form no message cost time too.
    peer.stream.on('data', (chunk: Buffer) => this.#spend({ bytes: chunk.length }))
    socket.on('message', (data, isBinary) => this.#receive({ data: bytesOf(data), isBinary }))
    socket.on('ping', (data) => this.#onPing(data))
    socket.on('pong', () => {
      this.heardAtMs = host.now()
      this.#spend({ frames: 1 })
    })
    // The frame was too large or not a WebSocket frame; `close` follows.
    socket.on('error', (error) => {
      this.#hasSpoken = true
      this.onMalformed(error.message)
    })
    socket.on('close', (code) => void this.#onClose(code))
  }

  /** True once the device has sent its hello, and it is recorded. */
  abstract get isConnected(): boolean

  /** Decides how to read a frame whose params are compressed. */
  protected abstract unpack(frame: PackedCall): UnpackedFrame
  /** The session's next message waits until this resolves. It must not reject. */
  protected abstract onCall(call: DeviceCall): Promise<void>
  /** As for `onCall`. */
  protected abstract onReply(reply: DeviceReply): Promise<void>
  protected abstract onMalformed(why: string): void
  /** Called when the session exceeds its device's allowance and is being closed. */
  protected abstract onFlood(): void
  protected abstract onClosed(code: number): void

  /** True while the messages of the device count. */
  get isServed(): boolean {
    return this.isConnected && !this.#isEnded
  }

  /** True when the device has closed the session without sending a message. */
  get isLeftSilently(): boolean {
    return this.isClosed && !this.#hasSpoken && !this.#isEnded
  }

  /** True while we do not read the socket, because of our backlog or the device's allowance. */
  get isPaused(): boolean {
    return this.#socket.isPaused
  }

  /** False also while a connection that either side has closed, or the peer has reset, waits for its end. */
  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN && !this.#socket.isEnding && !this.#stream.destroyed
  }

  /** @returns False when the text was certainly not sent. */
  protected write(text: string): boolean {
    if (!this.#isOpen) return false
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      this.terminate()
      return false
    }
    this.#socket.send(text)
    return true
  }

  ping(): void {
    this.pingedAtMs = this.#host.now()
    if (this.#isOpen) this.#socket.ping()
  }

  closeWith(code: number, text: string): void {
    this.#end()
    this.#socket.resume()
    this.#socket.close(code, text)
  }

  /** Closes without a close frame, for a peer that does not answer. */
  terminate(): void {
    this.#end()
    this.#socket.terminate()
  }

  /** Must be called at intervals: resumes after a wait for the allowance, and ends a session that waits too much. */
  look(): void {
    if (this.#isFlooding) return this.terminate()
    // Thousands of sessions are looked at each second, and nearly none of them has to wait.
    if (this.#waitingSinceMs === null) return
    const nowMs = this.#host.now()
    const isSpent = this.#allowance.isSpent(nowMs)
    const hasWaited = this.#hasWaited || isSpent
    this.#hasWaited = isSpent
    if (!hasWaited) this.#waitingSinceMs = null
    else if (nowMs - this.#waitingSinceMs >= MAX_WAIT_MS) this.#closeFlood()
    else if (!isSpent) {
      this.#resume()
      this.#drainSoon()
    }
  }

  #receive(frame: RawFrame): void {
    this.heardAtMs = this.#host.now()
    this.#hasSpoken = true
    if (this.#isEnded) return
    this.#queue.push(frame)
    this.#queuedBytes += frame.data.length
    if (this.#isBehind(1)) this.#socket.pause()
    this.#drainSoon()
  }

  #onPing(data: Buffer): void {
    this.heardAtMs = this.#host.now()
    this.#spend({ frames: 1 })
    this.onPing(data)
  }

  /** Pings are not queued: a ping that arrives while the device has to wait gets no answer. */
  protected onPing(data: Buffer): void {
    if (!this.#mustWait()) this.pong(data)
  }

  protected pong(data: Buffer): void {
    if (this.#isOpen) this.#socket.pong(data)
  }

  /** Resolves with true when all messages so far are handled, and with false if the session ends before. */
  protected async areHandled(): Promise<boolean> {
    while (this.#draining !== null || this.#queue.length > 0)
      await (this.#draining ?? (this.#resumed ??= Promise.withResolvers()).promise)
    return !this.#isEnded
  }

  #spend(cost: Cost): void {
    this.#allowance.spend(cost, this.#host.now())
    if (this.#mustWait()) this.#socket.pause()
  }

  #mustWait(): boolean {
    const nowMs = this.#host.now()
    if (!this.#allowance.isSpent(nowMs)) return false
    this.#hasWaited = true
    this.#waitingSinceMs ??= nowMs
    return true
  }

  #isBehind(share: number): boolean {
    return this.#queue.length >= MAX_QUEUED * share || this.#queuedBytes >= MAX_QUEUED_BYTES * share
  }

  #resume(): void {
    if (!this.#socket.isPaused || this.#isFlooding || this.#isBehind(0.5)) return
    this.heardAtMs = this.#host.now()
    this.#socket.resume()
  }

  #drainSoon(): void {
    this.#draining ??= this.#drain().finally(() => void (this.#draining = null))
    this.#resumeWaiting()
  }

  #resumeWaiting(): void {
    this.#resumed?.resolve()
    this.#resumed = null
  }

  async #drain(): Promise<void> {
    while (!this.#mustWait()) {
      const raw = this.#queue.shift()
      if (raw === undefined) break
      this.#queuedBytes -= raw.data.length
      const frame = await this.#host.turns.run(() => this.#decode(raw))
      await this.#spendTime(() => this.#handle(frame))
      if (!this.#mustWait()) this.#resume()
    }
  }

  #decode({ data, isBinary }: RawFrame): Frame {
    if (isBinary) return { kind: 'malformed', why: 'binary frame' }
    const { frame, inflatedBytes } = this.#spendTime(() => {
      const envelope = decodeEnvelope(data.toString('utf8'))
      return envelope.kind === 'packed' ? this.unpack(envelope) : { frame: envelope, inflatedBytes: 0 }
    })
    this.#spend({ frames: 1, bytes: inflatedBytes })
    return frame
  }

  /** Charges the device for the time until `work` returns, which for a promise is that until it first waits. */
  #spendTime<T>(work: () => T): T {
    const startMs = this.#host.now()
    try {
      return work()
    } finally {
      this.#spend({ decodeMs: Math.min(MAX_DECODE_MS, this.#host.now() - startMs) })
    }
  }

  async #handle(frame: Frame): Promise<void> {
    if (this.#isEnded) return
    if (frame.kind === 'call') return this.onCall(frame)
    if (frame.kind === 'reply') return this.onReply(frame)
    if (frame.kind === 'radius') return
    this.onMalformed(frame.why)
    this.#spend(MALFORMED)
  }

  /** The socket stays unread, so that the device can't continue while the close frame is on its way. */
  #closeFlood(): void {
    this.#isFlooding = true
    this.#end()
    // Otherwise a new session would continue the flood.
    this.#allowance.exhaust(this.#host.now())
    this.onFlood()
    this.#socket.close(closeCodes.policy, 'more than the gateway reads')
  }

  #end(): void {
    this.#isEnded = true
    this.#dropQueue()
  }

  #dropQueue(): void {
    this.#queue = []
    this.#resumeWaiting()
  }

  /** Handles messages that arrived before the close: a switch reboots right after the event that ends its upgrade. */
  async #onClose(code: number): Promise<void> {
    await this.#draining
    this.#dropQueue()
    this.isClosed = true
    this.onClosed(code)
  }
}

function bytesOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return Buffer.isBuffer(data) ? data : Buffer.from(data)
}
