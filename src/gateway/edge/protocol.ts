import { createHash } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { parseCommonName } from '../../mxedges/registration/identity.ts'
import { Allowances } from '../allowance.ts'
import type { ProvenIdentity } from '../appliance-link.ts'
import type { GatewayTls } from '../device-ca.ts'
import { type OpenSessions, createOpenSessions } from '../open-sessions.ts'
import type { LinkHost, Listener, Protocol } from '../protocol.ts'
import { createTurns } from '../turns.ts'
import { watchSessions } from '../watch-sessions.ts'
import { startWebSocketServer } from '../websocket-server.ts'
import { decodeReply } from './driver.ts'
import { type EdgeLimits, defaultLimits } from './limits.ts'
import { dropMessage, receiveCall } from './receive.ts'
import { type AgentHost, AgentSession } from './session.ts'

export const FAMILY = 'edge'

export interface EdgeOptions {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  /** Its CA is the one that signs the certificates of agents. */
  readonly tls: GatewayTls
  readonly limits?: Partial<EdgeLimits>
}

/** The protocol of Signalbox's own agent, which runs on edge appliances. See docs/protocols.md. */
export function edge(options: EdgeOptions): Protocol {
  return { family: FAMILY, listen: (host) => listen(host, options) }
}

async function listen(host: LinkHost, { limits: changed, ...address }: EdgeOptions): Promise<Listener> {
  const limits: EdgeLimits = { ...defaultLimits, ...changed }
  const sessions = createOpenSessions<AgentSession>(({ deviceId }) => deviceId)
  const allowances = new Allowances()
  const agents = createAgentHost(host, sessions, allowances)
  const server = await startWebSocketServer({
    ...address,
    admission: limits.admission,
    now: host.now,
    times: limits,
    identify,
    mayOpen: ({ mxedgeId }) => !allowances.isSpent(mxedgeId, host.now()),
    onSession(socket, peer) {
      host.counters.add('sessions')
      const allowance = allowances.open(peer.identity.mxedgeId, host.now())
      sessions.add(new AgentSession(socket, { ...peer, allowance }, agents))
    },
    onRefused(why, from) {
      host.counters.add(`refused_${why}`)
      host.ctx.log.debug({ why, address: from }, 'refused a connection')
    },
  })
  return {
    port: server.port,
    look() {
      server.dropLate()
      watchSessions(sessions.all, host.now(), limits)
      allowances.sweep(host.now())
    },
    close() {
      for (const session of sessions.all) session.close('restart')
      return server.close()
    },
  }
}

/** The name alone is no proof: a certificate of an earlier registration may have it too. */
function identify(commonName: string, socket: TLSSocket): ProvenIdentity | null {
  const identity = parseCommonName(commonName)
  const key = socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' })
  if (identity === null || key === undefined) return null
  return { ...identity, keySha256: createHash('sha256').update(key).digest('hex') }
}

function createAgentHost(host: LinkHost, sessions: OpenSessions<AgentSession>, allowances: Allowances): AgentHost {
  const { ctx, counters, now } = host
  return {
    now,
    turns: createTurns(now),
    onCall: (session, call) => receiveCall(host, session, call),
    async onReply(session, reply) {
      if (await host.appliances.onReply(session, reply.id, (sent) => decodeReply(sent, reply))) return
      dropMessage(host, session, { what: 'unknown_reply', detail: String(reply.id) })
    },
    onMalformed: (session, why) => dropMessage(host, session, { what: 'malformed_frame', detail: why }),
    onFlood({ deviceId, address }) {
      counters.add('flood')
      ctx.log.warn({ mxedgeId: deviceId, address }, 'closed a session: the agent sends more than the gateway reads')
    },
    onClosed(session) {
      allowances.release(session.deviceId)
      sessions.remove(session)
      host.appliances.onClosed(session)
    },
  }
}
