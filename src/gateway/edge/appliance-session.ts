import type { MxedgeCommandToSend } from '../../mxedges/commands/store.ts'
import type { ApplianceLink, OrderAddresses, ProvenIdentity } from '../links/appliance-link.ts'
import type { SendResult } from '../links/device-link.ts'
import type { FramePeer } from '../websockets/frame-session.ts'
import type { SessionSocket } from '../websockets/session-socket.ts'
import { encodeOrder } from './driver.ts'
import { type AgentHost, AgentSession } from './session.ts'

export interface AppliancePeer extends FramePeer {
  readonly identity: Omit<ProvenIdentity, 'certificateExpiresAt'>
}

/** One connection of the agent of an edge appliance. */
export class ApplianceSession extends AgentSession<ApplianceSession> implements ApplianceLink {
  readonly identity: ProvenIdentity

  constructor(socket: SessionSocket, peer: AppliancePeer, host: AgentHost<ApplianceSession>) {
    const { mxedgeId: deviceId, keySha256 } = peer.identity
    super(socket, { ...peer, deviceId, keySha256 }, host)
    this.identity = { ...peer.identity, certificateExpiresAt: peer.certificateExpiresAt }
  }

  get logged() {
    return { mxedgeId: this.deviceId }
  }

  protected get self(): this {
    return this
  }

  send(command: MxedgeCommandToSend, addresses: OrderAddresses): SendResult {
    const encoded = encodeOrder(command, addresses)
    if (encoded.kind === 'rejected') return encoded
    const { call, timeoutMs, limits } = encoded
    const isSent = this.sendCall({ commandId: command.id, callId: command.callId, limits }, call)
    return isSent ? { kind: 'sent', timeoutMs } : { kind: 'unsent' }
  }
}
