import { createHash } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { parseCommonName } from '../../mxedges/registration/identity.ts'
import { deviceIdOf } from '../../devices/device.ts'
import { parseRouterName } from '../../devices/routers/identity.ts'
import { ROUTER_FAMILY } from '../../devices/routers/register-router.ts'
import type { MxedgeCommandToSend } from '../../mxedges/commands/store.ts'
import { createAgentSigner } from '../certificates/agent-signer.ts'
import { Allowances } from '../admission/allowance.ts'
import type { ProvenIdentity } from '../links/appliance-link.ts'
import {
  type ConnectionPolicy,
  createConnectionGate,
  defaultConnections,
} from '../../platform/queues/connection-gate.ts'
import type { GatewayTls } from '../certificates/device-ca.ts'
import type { Decode } from '../links/device-link.ts'
import type { SentCommand } from '../driver.ts'
import type { DeviceReply } from '../websockets/frame-session.ts'
import { type OpenSessions, createOpenSessions } from '../websockets/open-sessions.ts'
import type { LinkHost, LinkSide, Listener, Protocol } from '../protocol.ts'
import { type Turns, createTurns } from '../admission/turns.ts'
import { watchSessions } from '../websockets/watch-sessions.ts'
import { startWebSocketServer } from '../websockets/websocket-server.ts'
import { decodeReply } from './driver.ts'
import { type EdgeLimits, defaultLimits } from './limits.ts'
import { ApplianceSession } from './appliance-session.ts'
import { type Receivers, applianceReceivers, dropMessage, receiveCall } from './receive.ts'
import type { EdgeHost } from './renew.ts'
import { routerReceivers } from './receive-router.ts'
import { routerDriver } from './router-driver.ts'
import { type RouterIdentity, RouterSession } from './router-session.ts'
import type { AgentHost, AgentSession } from './session.ts'

export const FAMILY = ROUTER_FAMILY

export interface EdgeOptions {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  /** Its CA signs the certificates of agents. */
  readonly tls: GatewayTls
  /** The folder of the installation, whose CA signs the certificates of agents when they are renewed. */
  readonly dataDir: string
  readonly connections?: ConnectionPolicy
  readonly limits?: Partial<EdgeLimits>
}

/**
 * The protocol of Signalbox's own agent, which runs on edge appliances and on SSR routers. The certificate determines
 * which of them an agent is. See docs/protocols.md.
 */
export function edge(options: EdgeOptions): Protocol {
  return { family: FAMILY, listen: (host) => listen(host, options) }
}

/** The identity in an agent's certificate. */
type AgentIdentity =
  | (Omit<ProvenIdentity, 'certificateExpiresAt'> & { readonly role: 'appliance' })
  | (RouterIdentity & { readonly role: 'router' })

type AnySession = ApplianceSession | RouterSession

async function listen(
  linkHost: LinkHost,
  { limits: changed, connections, dataDir, ...address }: EdgeOptions,
): Promise<Listener> {
  const limits: EdgeLimits = { ...defaultLimits, ...changed }
  const { renewBeforeMs } = limits
  const host: EdgeHost = { ...linkHost, renewal: { checkRequest: createAgentSigner(dataDir), renewBeforeMs } }
  const sessions = createOpenSessions<AnySession>(({ deviceId }) => deviceId)
  const allowances = new Allowances()
  const open = { host, turns: createTurns(host.now), sessions, allowances }
  const appliances = createAgentHost<ApplianceSession, MxedgeCommandToSend>(open, {
    side: host.appliances,
    receivers: applianceReceivers,
    decode: (reply) => (sent) => decodeReply(sent, reply),
  })
  const routers = createAgentHost<RouterSession, SentCommand>(open, {
    side: host,
    receivers: routerReceivers,
    decode: (reply) => (sent) => routerDriver.decodeReply(sent, reply),
  })
  const server = await startWebSocketServer<AgentIdentity>({
    ...address,
    gate: createConnectionGate(connections ?? defaultConnections, host.ctx.log),
    admission: limits.admission,
    now: host.monotonicMs,
    times: limits,
    identify,
    mayOpen: (identity) => !allowances.isSpent(nameOf(identity), host.now()),
    onSession(socket, { identity, ...peer }) {
      host.counters.add('sessions')
      const allowed = { ...peer, allowance: allowances.open(nameOf(identity), host.now()) }
      sessions.add(
        identity.role === 'router'
          ? new RouterSession(socket, { ...allowed, identity }, routers)
          : new ApplianceSession(socket, { ...allowed, identity }, appliances),
      )
    },
    onRefused(why, from) {
      host.counters.add(`refused_${why}`)
      host.refusals.add({ protocol: 'edge', why, address: from })
      host.ctx.log.debug({ why, address: from }, 'refused a connection')
    },
  })
  return {
    port: server.port,
    async look() {
      server.dropLate()
      await watchSessions(sessions.all, host.now, limits)
      allowances.sweep(host.now())
    },
    close() {
      for (const session of sessions.all) session.close('restart')
      return server.close()
    },
  }
}

/** Returns the name of the session: the id of the appliance or of the device. */
function nameOf(identity: AgentIdentity): string {
  return identity.role === 'router' ? deviceIdOf(identity.mac) : identity.mxedgeId
}

/** The name by itself is not proof: a certificate of an earlier registration may have it too. */
function identify(commonName: string, socket: TLSSocket): AgentIdentity | null {
  const key = socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' })
  if (key === undefined) return null
  const keySha256 = createHash('sha256').update(key).digest('hex')
  const mac = parseRouterName(commonName)
  if (mac !== null) return { role: 'router', mac, keySha256 }
  const identity = parseCommonName(commonName)
  return identity === null ? null : { role: 'appliance', ...identity, keySha256 }
}

interface Open {
  readonly host: EdgeHost
  readonly turns: Turns
  readonly sessions: OpenSessions<AnySession>
  readonly allowances: Allowances
}

/** The handling of the messages of one role's agents. */
interface Role<S extends AnySession, Sent> {
  readonly side: Pick<LinkSide<S, never, Sent>, 'onReply' | 'whenWritten' | 'onClosed'>
  readonly receivers: Receivers<S>
  readonly decode: (reply: DeviceReply) => Decode<Sent>
}

function createAgentHost<S extends AnySession & AgentSession<S>, Sent>(
  { host, turns, sessions, allowances }: Open,
  { side, receivers, decode }: Role<S, Sent>,
): AgentHost<S> {
  const { ctx, counters, now } = host
  return {
    now,
    turns,
    onCall: (session, call) => receiveCall(host, session, { call, receivers }),
    async onReply(session, reply) {
      if (await side.onReply(session, reply.id, decode(reply))) return
      dropMessage(host, session, { what: 'unknown_reply', detail: String(reply.id) })
    },
    whenWritten: (session) => side.whenWritten(session),
    onMalformed: (session, why) => dropMessage(host, session, { what: 'malformed_frame', detail: why }),
    onFlood(session) {
      counters.add('flood')
      const from = { ...session.logged, address: session.address }
      ctx.log.warn(from, 'closed a session: the agent sends more than the gateway reads')
    },
    onClosed(session) {
      allowances.release(session.deviceId)
      sessions.remove(session)
      side.onClosed(session)
    },
  }
}
