import { deviceIdOf } from '../../devices/device.ts'
import { ROUTER_FAMILY } from '../../devices/routers/register-router.ts'
import type { DeviceLink, LinkCommand, SendResult } from '../links/device-link.ts'
import type { FramePeer } from '../websockets/frame-session.ts'
import type { SessionSocket } from '../websockets/session-socket.ts'
import { routerDriver } from './router-driver.ts'
import { type AgentHost, AgentSession } from './session.ts'

/** The identity in the certificate of a router's agent, and its key. */
export interface RouterIdentity {
  readonly mac: string
  /** SHA-256 of the certificate's public key, in hex. */
  readonly keySha256: string
}

export interface RouterPeer extends FramePeer {
  readonly identity: RouterIdentity
}

/** One connection of the agent of an SSR router. The rest of the gateway sees it as the link of a device. */
export class RouterSession extends AgentSession<RouterSession> implements DeviceLink {
  readonly family = ROUTER_FAMILY
  readonly mac: string
  readonly routerKey: string
  /** Set before the connection is recorded: the organization with which the key has registered. */
  orgId: string | null = null

  constructor(socket: SessionSocket, peer: RouterPeer, host: AgentHost<RouterSession>) {
    const { mac, keySha256 } = peer.identity
    super(socket, { ...peer, deviceId: deviceIdOf(mac), keySha256 }, host)
    this.mac = mac
    this.routerKey = keySha256
  }

  get logged() {
    return { mac: this.mac }
  }

  protected get self(): this {
    return this
  }

  send({ callId, commandId, device, order }: LinkCommand): SendResult {
    const encoded = routerDriver.encode(device, order)
    if (encoded.kind === 'rejected') return encoded
    const { call, limits } = encoded
    const { method, params } = call
    const isSent = this.sendCall(
      { commandId, callId, limits },
      { method, params: { command_id: commandId, ...params } },
    )
    return isSent ? { kind: 'sent', timeoutMs: encoded.timeoutMs } : { kind: 'unsent' }
  }
}
