import type { WebSocket } from 'ws'
import { Allowances } from '../allowance.ts'
import type { LinkHost } from '../protocol.ts'
import { createTurns } from '../turns.ts'
import { ucentralDriver } from './driver.ts'
import type { UcentralLimits } from './limits.ts'
import { dropMessage, receiveCall } from './receive.ts'
import type { Peer } from './server.ts'
import { Session, type SessionHost } from './session.ts'
import { TELEMETRY_CALL_ID } from './telemetry.ts'
import { warnOfMissingUptimes, watchSessions } from './watch-sessions.ts'

/** All open sessions, whether or not their devices have sent `connect`. */
export interface Sessions {
  /** False for a device that has recently exceeded its allowance. */
  mayOpen(mac: string): boolean
  open(socket: WebSocket, peer: Peer): void
  /** Checks all sessions; called at regular intervals. */
  look(): void
  /** Closes all sessions because the service stops. */
  close(): void
}

export interface SessionsOptions {
  readonly limits: UcentralLimits
  /** The common name of the gateway's certificate. */
  readonly gatewayName: string
}

export function createSessions(host: LinkHost, { limits, gatewayName }: SessionsOptions): Sessions {
  const { ctx, counters, now } = host
  const sockets = createSockets()
  const allowances = new Allowances()
  const sessionHost = createSessionHost({ host, sockets, allowances, gatewayName })
  return {
    mayOpen: (mac) => !allowances.isSpent(mac, now()),
    open(socket, peer) {
      counters.add('sessions')
      const allowance = allowances.open(peer.mac, now())
      sockets.add(new Session(socket, { ...peer, allowance }, sessionHost))
    },
    look() {
      watchSessions(sockets.open, now(), limits)
      warnOfMissingUptimes(ctx, sockets.open, now())
      allowances.sweep(now())
    },
    close() {
      for (const session of sockets.open) session.close('restart')
    },
  }
}

interface SessionHostParts {
  readonly host: LinkHost
  readonly sockets: Sockets
  readonly allowances: Allowances
  readonly gatewayName: string
}

function createSessionHost({ host, sockets, allowances, gatewayName }: SessionHostParts): SessionHost {
  const warnOfSilent = createSilentLeaveWarning(host, gatewayName)
  const { ctx, counters, now } = host
  return {
    now,
    turns: createTurns(now),
    onCall: (session, call) => receiveCall(host, session, call),
    async onReply(session, id, reply) {
      if (id === TELEMETRY_CALL_ID) {
        session.hasAnsweredTelemetry = true
        return
      }
      if (await host.onReply(session, id, (sent) => ucentralDriver.decodeReply(sent, reply))) return
      dropMessage(host, session, { what: 'unknown_reply', detail: String(id) })
    },
    onMalformed: (session, why) => dropMessage(host, session, { what: 'malformed_frame', detail: why }),
    onFlood({ mac, address }) {
      counters.add('flood')
      ctx.log.warn({ mac, address }, 'closed a session: the device sends more than the gateway reads')
    },
    onClosed(session) {
      allowances.release(session.mac)
      sockets.remove(session)
      if (session.isLeftSilently) warnOfSilent(session)
      host.onClosed(session)
    },
  }
}

/** How many devices are remembered as already warned about. */
const MAX_WARNED = 10_000

/**
 * An access point whose `gateway.json` names another host than the gateway's certificate leaves without a message
 * and waits for half an hour.
 */
function createSilentLeaveWarning({ ctx, counters }: LinkHost, gatewayName: string): (session: Session) => void {
  const warned = new Set<string>()
  return ({ mac, address }) => {
    counters.add('left_silently')
    if (warned.has(mac)) return
    if (warned.size >= MAX_WARNED) warned.clear()
    warned.add(mac)
    ctx.log.warn({ mac, address }, `left before it said connect; does its gateway.json name ${gatewayName}?`)
  }
}

/** Holds all open sessions, with at most one per device that has not sent `connect`. */
interface Sockets {
  readonly open: Iterable<Session>
  add(session: Session): void
  remove(session: Session): void
}

function createSockets(): Sockets {
  const open = new Set<Session>()
  /** By MAC. */
  const newest = new Map<string, Session>()
  return {
    open,
    add(session) {
      const last = newest.get(session.mac)
      // Otherwise one certificate could open thousands of sockets that never send `connect`.
      if (last?.isConnected === false) last.terminate()
      newest.set(session.mac, session)
      open.add(session)
    },
    remove(session) {
      open.delete(session)
      if (newest.get(session.mac) === session) newest.delete(session.mac)
    },
  }
}
