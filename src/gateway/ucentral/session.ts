import { deviceIdOf } from '../../devices/device.ts'
import type { Telemetry } from '../../devices/telemetry/telemetry.ts'
import { closeFrames } from '../websockets/close-codes.ts'
import { type CloseReason, type DeviceLink, type LinkCommand, NO_EPOCH, type SendResult } from '../links/device-link.ts'
import {
  type DeviceCall,
  type DeviceReply,
  type FrameHost,
  type FramePeer,
  FrameSession,
  type UnpackedFrame,
} from '../websockets/frame-session.ts'
import { type Call, type PackedCall, encodeCall, inflateCall } from '../websockets/jsonrpc.ts'
import type { SessionSocket } from '../websockets/session-socket.ts'
import { FAMILY, type Reply, ucentralDriver } from './driver.ts'
import { isContentRead, isDeviceMethod } from './messages.ts'

/** How the gateway handles the messages of its sessions. */
export interface SessionHost extends FrameHost {
  /** The session's next message waits until this resolves. It must not reject. */
  readonly onCall: (session: Session, call: DeviceCall) => Promise<void>
  /** As for `onCall`. */
  readonly onReply: (session: Session, id: number, reply: Reply) => Promise<void>
  readonly onMalformed: (session: Session, why: string) => void
  /** Called when the session exceeds its device's allowance and is being closed. */
  readonly onFlood: (session: Session) => void
  readonly onClosed: (session: Session, code: number) => void
}

export interface SessionPeer extends FramePeer {
  /** From the client certificate: twelve lower-case hex digits. */
  readonly identity: string
  readonly certificateSerial: string
  readonly certificateExpiresAt: Date
}

/** One connection of a device, which its certificate identifies. */
export class Session extends FrameSession implements DeviceLink {
  readonly family = FAMILY
  readonly mac: string
  readonly deviceId: string
  readonly certificateSerial: string
  readonly certificateExpiresAt: Date
  readonly orgId = null
  epoch: string = NO_EPOCH
  /** False while reports may come from the queue that the device filled while it was offline. */
  hasAnsweredTelemetry = false
  /** A scan that the device has sent since its last report. */
  scan: Pick<Telemetry, 'scan'> = {}
  /** The state of the uptime report that can prove a boot; `missed`: none arrived in time, and the log says so. */
  uptime: 'awaited' | 'reported' | 'missed' = 'awaited'
  readonly #sessions: SessionHost

  constructor(socket: SessionSocket, peer: SessionPeer, host: SessionHost) {
    super(socket, peer, host)
    this.#sessions = host
    this.mac = peer.identity
    this.certificateSerial = peer.certificateSerial
    this.certificateExpiresAt = peer.certificateExpiresAt
    this.deviceId = deviceIdOf(peer.identity)
  }

  get isConnected(): boolean {
    return this.epoch !== NO_EPOCH
  }

  send({ callId, device, order }: LinkCommand): SendResult {
    const encoded = ucentralDriver.encode(device, order)
    if (encoded.kind === 'rejected') return encoded
    return this.call(callId, encoded.call) ? { kind: 'sent', timeoutMs: encoded.timeoutMs } : { kind: 'unsent' }
  }

  /** @returns False when the call was certainly not sent. */
  call(id: number, { method, params }: Call): boolean {
    return this.write(encodeCall(id, method, params))
  }

  close(reason: CloseReason): void {
    const { code, text } = closeFrames[reason]
    this.closeWith(code, text)
  }

  protected unpack(packed: PackedCall): UnpackedFrame {
    const { id, method } = packed
    if (isDeviceMethod(method) && isContentRead(method)) return inflateCall(packed)
    return { frame: { kind: 'call', id, method, params: { serial: this.mac } }, inflatedBytes: 0 }
  }

  protected onCall(call: DeviceCall): Promise<void> {
    return this.#sessions.onCall(this, call)
  }

  protected onReply(reply: DeviceReply): Promise<void> {
    return this.#sessions.onReply(this, reply.id, reply)
  }

  protected onMalformed(why: string): void {
    this.#sessions.onMalformed(this, why)
  }

  protected onFlood(): void {
    this.#sessions.onFlood(this)
  }

  protected onClosed(code: number): void {
    this.#sessions.onClosed(this, code)
  }
}
