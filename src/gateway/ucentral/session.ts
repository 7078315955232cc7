import type { RawData, WebSocket } from 'ws'
import { deviceIdOf } from '../../devices/device.ts'
import { closeCodes } from '../close-codes.ts'
import type { Call, Reply } from '../drivers/driver.ts'
import { type Frame, MIN_CALL_ID, decodeFrame, encodeCall, nextCallId } from './jsonrpc.ts'

/** Above it the device does not read: what we would write only fills our memory. */
const MAX_BUFFERED_BYTES = 1024 * 1024
/** Beyond it the socket is not read until the session has caught up. */
const MAX_QUEUED = 16
/** A device that sends this many frames that can't be read is broken or hostile. */
const MAX_MALFORMED = 20

/** Epoch of a session whose device has not said hello: lower than any in the database. */
const NO_EPOCH = '0'

export type DeviceCall = Extract<Frame, { kind: 'call' }>

/** What the gateway does with what its sessions hear. */
export interface SessionHost {
  readonly now: () => number
  /** The next message of the session waits until this settles; must not reject. */
  readonly onCall: (session: Session, call: DeviceCall) => Promise<void>
  readonly onReply: (session: Session, id: number, reply: Reply) => void
  readonly onMalformed: (session: Session, why: string) => void
  readonly onClosed: (session: Session, code: number) => void
}

/** One connection of a device, whose identity is that of its certificate. Messages are handled one by one, in order. */
export class Session {
  readonly mac: string
  readonly deviceId: string
  readonly address: string | null
  readonly openedAtMs: number
  /** When it was last certain that the device is there. */
  heardAtMs: number
  pingedAtMs: number
  epoch: string = NO_EPOCH
  isClosed = false
  /** It has sent something that we drop; the log has one line a session about that. */
  isOdd = false
  readonly #socket: WebSocket
  readonly #host: SessionHost
  #queue: DeviceCall[] = []
  #isDraining = false
  #malformed = 0
  #nextId = MIN_CALL_ID

  constructor(socket: WebSocket, peer: { mac: string; address: string | null }, host: SessionHost) {
    this.#socket = socket
    this.#host = host
    this.mac = peer.mac
    this.deviceId = deviceIdOf(peer.mac)
    this.address = peer.address
    this.openedAtMs = this.heardAtMs = this.pingedAtMs = host.now()
    const heard = (): void => void (this.heardAtMs = host.now())
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary))
    socket.on('ping', heard)
    socket.on('pong', heard)
    // The frame was too large, or no WebSocket frame at all; `close` follows.
    socket.on('error', (error) => host.onMalformed(this, error.message))
    socket.on('close', (code) => this.#onClose(code))
  }

  get isConnected(): boolean {
    return this.epoch !== NO_EPOCH
  }

  /** True while our own backlog keeps us from hearing the device. */
  get isPaused(): boolean {
    return this.#socket.isPaused
  }

  /** @returns The id of the call, or null when it was certainly not sent. */
  send({ method, params }: Call): number | null {
    if (this.#socket.readyState !== this.#socket.OPEN) return null
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      this.#socket.terminate()
      return null
    }
    const id = this.#nextId
    this.#nextId = nextCallId(id)
    this.#socket.send(encodeCall(id, method, params))
    return id
  }

  ping(): void {
    this.pingedAtMs = this.#host.now()
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
  }

  close(code: number, reason: string): void {
    this.#queue = []
    this.#socket.resume()
    this.#socket.close(code, reason)
  }

  /** For a peer that does not answer: no goodbye. */
  terminate(): void {
    this.#socket.terminate()
  }

  #receive(data: RawData, isBinary: boolean): void {
    this.heardAtMs = this.#host.now()
    if (this.#socket.readyState !== this.#socket.OPEN) return
    const frame: Frame = isBinary ? { kind: 'malformed', why: 'binary frame' } : decodeFrame(textOf(data))
    switch (frame.kind) {
      case 'malformed':
        this.#host.onMalformed(this, frame.why)
        this.#malformed += 1
        if (this.#malformed >= MAX_MALFORMED) this.close(closeCodes.policy, 'too many malformed frames')
        return
      case 'reply':
        this.#host.onReply(this, frame.id, frame)
        return
      case 'call':
        this.#queue.push(frame)
        if (this.#queue.length >= MAX_QUEUED) this.#socket.pause()
        if (!this.#isDraining) void this.#drain()
    }
  }

  async #drain(): Promise<void> {
    this.#isDraining = true
    for (let call = this.#queue.shift(); call !== undefined; call = this.#queue.shift()) {
      await this.#host.onCall(this, call)
      if (this.#socket.isPaused && this.#queue.length < MAX_QUEUED / 2) {
        this.heardAtMs = this.#host.now()
        this.#socket.resume()
      }
    }
    this.#isDraining = false
  }

  #onClose(code: number): void {
    this.isClosed = true
    this.#queue = []
    this.#host.onClosed(this, code)
  }
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8')
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8')
}
