import type { WebSocket } from 'ws'
import type { MxedgeCommandToSend } from '../../mxedges/commands/store.ts'
import type { Artifact } from '../artifacts.ts'
import type { ApplianceLink, ProvenIdentity } from '../appliance-link.ts'
import { closeFrames } from '../close-codes.ts'
import { type CloseReason, NO_EPOCH, type SendResult } from '../device-link.ts'
import {
  type DeviceCall,
  type DeviceReply,
  type FrameHost,
  type FramePeer,
  FrameSession,
  type UnpackedFrame,
} from '../frame-session.ts'
import { type Params, type RpcError, encodeCall, encodeError, encodeResult } from '../jsonrpc.ts'
import { encodeOrder } from './driver.ts'

/** How the gateway handles the messages of agents. */
export interface AgentHost extends FrameHost {
  readonly onCall: (session: AgentSession, call: DeviceCall) => Promise<void>
  readonly onReply: (session: AgentSession, reply: DeviceReply) => Promise<void>
  readonly onMalformed: (session: AgentSession, why: string) => void
  readonly onFlood: (session: AgentSession) => void
  readonly onClosed: (session: AgentSession) => void
}

export interface AgentPeer extends FramePeer {
  readonly identity: ProvenIdentity
}

/** One connection of the agent of an edge appliance, which its certificate identifies. */
export class AgentSession extends FrameSession implements ApplianceLink {
  readonly deviceId: string
  readonly identity: ProvenIdentity
  epoch: string = NO_EPOCH
  readonly #agents: AgentHost
  /** The command that was sent last; one is in flight at a time. */
  #sent: Pick<MxedgeCommandToSend, 'id' | 'callId'> | null = null

  constructor(socket: WebSocket, peer: AgentPeer, host: AgentHost) {
    super(socket, peer, host)
    this.#agents = host
    this.identity = peer.identity
    this.deviceId = peer.identity.mxedgeId
  }

  /** Returns the id of the call that carried the command, if it was sent last. */
  callIdOf(commandId: string): number | null {
    return this.#sent?.id === commandId ? this.#sent.callId : null
  }

  get isConnected(): boolean {
    return this.epoch !== NO_EPOCH
  }

  send(command: MxedgeCommandToSend, image: Artifact | null): SendResult {
    const encoded = encodeOrder(command, image)
    if (encoded.kind === 'rejected') return encoded
    const { call, timeoutMs } = encoded
    this.#sent = { id: command.id, callId: command.callId }
    const isSent = this.write(encodeCall(command.callId, call.method, call.params))
    return isSent ? { kind: 'sent', timeoutMs } : { kind: 'unsent' }
  }

  answer(id: number, result: Params): void {
    this.write(encodeResult(id, result))
  }

  /** Answers a call that has failed; a notification gets no answer. */
  refuse(id: number | null, error: RpcError): void {
    if (id !== null) this.write(encodeError(id, error))
  }

  close(reason: CloseReason): void {
    const { code, text } = closeFrames[reason]
    this.closeWith(code, text)
  }

  /** Agents send no compressed params. */
  protected unpack(): UnpackedFrame {
    return { frame: { kind: 'malformed', why: 'compressed params' }, inflatedBytes: 0 }
  }

  protected onCall(call: DeviceCall): Promise<void> {
    return this.#agents.onCall(this, call)
  }

  protected onReply(reply: DeviceReply): Promise<void> {
    return this.#agents.onReply(this, reply)
  }

  protected onMalformed(why: string): void {
    this.#agents.onMalformed(this, why)
  }

  protected onFlood(): void {
    this.#agents.onFlood(this)
  }

  protected onClosed(): void {
    this.#agents.onClosed(this)
  }
}
