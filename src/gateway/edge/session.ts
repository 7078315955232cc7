import type { StepLimits } from '../../mxedges/commands/time-limits.ts'
import { closeFrames } from '../websockets/close-codes.ts'
import { type CloseReason, type Link, NO_EPOCH } from '../links/device-link.ts'
import {
  type DeviceCall,
  type DeviceReply,
  type FrameHost,
  type FramePeer,
  FrameSession,
  type UnpackedFrame,
} from '../websockets/frame-session.ts'
import { type Params, type RpcError, encodeCall, encodeError, encodeResult } from '../websockets/jsonrpc.ts'
import type { SessionSocket } from '../websockets/session-socket.ts'

/** How the gateway handles the messages of the agents of one role. */
export interface AgentHost<S extends AgentSession<S>> extends FrameHost {
  readonly onCall: (session: S, call: DeviceCall) => Promise<void>
  readonly onReply: (session: S, reply: DeviceReply) => Promise<void>
  /** Resolves when the replies of the agent are written. */
  readonly whenWritten: (session: S) => Promise<void>
  readonly onMalformed: (session: S, why: string) => void
  readonly onFlood: (session: S) => void
  readonly onClosed: (session: S) => void
}

/** The command of a call. */
export interface SentCall {
  readonly commandId: string
  readonly callId: number
  readonly limits: StepLimits
  readonly sentAtMs: number
}

const MAX_SENT = 2

/** One connection of an agent, which its certificate identifies. Each role has its own class. */
export abstract class AgentSession<S extends AgentSession<S>> extends FrameSession implements Link {
  readonly deviceId: string
  epoch: string = NO_EPOCH
  /** SHA-256 of the certificate's public key, in hex. */
  readonly keySha256: string
  readonly certificateExpiresAt: Date
  readonly #agents: AgentHost<S>
  /** The commands that were sent last: one is in flight at a time, and one beside it that only collects files. */
  readonly #sent: SentCall[] = []
  /** The last ping that has no answer yet. */
  #pinged: Buffer | null = null

  constructor(
    socket: SessionSocket,
    peer: FramePeer & Pick<AgentSession<S>, 'deviceId' | 'keySha256'>,
    host: AgentHost<S>,
  ) {
    super(socket, peer, host)
    this.#agents = host
    this.deviceId = peer.deviceId
    this.keySha256 = peer.keySha256
    this.certificateExpiresAt = peer.certificateExpiresAt
  }

  /** The fields that identify the peer in the log. */
  abstract get logged(): Readonly<Record<string, string>>
  /** The session itself, as its role's class. */
  protected abstract get self(): S

  /** Returns the call that carried the command, if it is one of those that were sent last. */
  sentCallOf(commandId: string): SentCall | null {
    return this.#sent.find((sent) => sent.commandId === commandId) ?? null
  }

  get isConnected(): boolean {
    return this.epoch !== NO_EPOCH
  }

  /** @returns False when the call was certainly not sent. */
  protected sendCall(
    sent: Omit<SentCall, 'sentAtMs'>,
    { method, params }: { readonly method: string; readonly params: Params },
  ): boolean {
    this.#sent.unshift({ ...sent, sentAtMs: this.#agents.now() })
    this.#sent.length = Math.min(this.#sent.length, MAX_SENT)
    return this.write(encodeCall(sent.callId, method, params))
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

  /** An agent keeps an answer until it gets the pong to the ping behind it: see decision 693. */
  protected override onPing(data: Buffer): void {
    const isWaiting = this.#pinged !== null
    this.#pinged = data
    if (!isWaiting) void this.#answerPing()
  }

  async #answerPing(): Promise<void> {
    for (;;) {
      const data = this.#pinged
      const areHandled = await this.areHandled()
      if (areHandled) await this.#agents.whenWritten(this.self)
      // There may be messages between this ping and the next one.
      if (data !== this.#pinged) continue
      this.#pinged = null
      if (areHandled && data !== null) this.pong(data)
      return
    }
  }

  protected onCall(call: DeviceCall): Promise<void> {
    return this.#agents.onCall(this.self, call)
  }

  protected onReply(reply: DeviceReply): Promise<void> {
    return this.#agents.onReply(this.self, reply)
  }

  protected onMalformed(why: string): void {
    this.#agents.onMalformed(this.self, why)
  }

  protected onFlood(): void {
    this.#agents.onFlood(this.self)
  }

  protected onClosed(): void {
    this.#agents.onClosed(this.self)
  }
}
