import { Allowances } from '../admission/allowance.ts'
import { type OpenSessions, createOpenSessions } from '../websockets/open-sessions.ts'
import type { LinkHost } from '../protocol.ts'
import { createTurns } from '../admission/turns.ts'
import { watchSessions } from '../websockets/watch-sessions.ts'
import { ucentralDriver } from './driver.ts'
import type { UcentralLimits } from './limits.ts'
import type { UcentralHost } from './host.ts'
import { createLostUpgrades } from './lost-upgrades.ts'
import { dropMessage, receiveCall } from './receive.ts'
import type { Peer } from '../websockets/websocket-server.ts'
import type { SessionSocket } from '../websockets/session-socket.ts'
import { Session, type SessionHost } from './session.ts'
import { TELEMETRY_CALL_ID } from './telemetry.ts'
import { warnOfMissingUptimes } from './warn-of-missing-uptimes.ts'

/** All open sessions, whether or not their devices have sent `connect`. */
export interface Sessions {
  /** False for a device that has recently exceeded its allowance. */
  mayOpen(mac: string): boolean
  open(socket: SessionSocket, peer: Peer<string>): void
  /** Checks all sessions; called at regular intervals. */
  look(): Promise<void>
  /** Closes all sessions because the service stops. */
  close(): void
}

export interface SessionsOptions {
  readonly limits: UcentralLimits
  /** The common name of the gateway's certificate. */
  readonly gatewayName: string
}

export function createSessions(host: LinkHost, { limits, gatewayName }: SessionsOptions): Sessions {
  const { counters, now } = host
  const sockets = createOpenSessions<Session>(({ mac }) => mac)
  const allowances = new Allowances()
  const lost = createLostUpgrades(host)
  const sessionHost = createSessionHost({ host: { ...host, lost }, sockets, allowances, gatewayName })
  return {
    mayOpen: (mac) => !allowances.isSpent(mac, now()),
    open(socket, peer) {
      counters.add('sessions')
      const allowance = allowances.open(peer.identity, now())
      sockets.add(new Session(socket, { ...peer, allowance }, sessionHost))
    },
    async look() {
      await watchSessions(sockets.all, now, limits)
      warnOfMissingUptimes(host, sockets.all)
      lost.look()
      allowances.sweep(now())
    },
    close() {
      for (const session of sockets.all) session.close('restart')
    },
  }
}

interface SessionHostParts {
  readonly host: UcentralHost
  readonly sockets: OpenSessions<Session>
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
      if (host.lost.onReply(session, id, reply)) return
      if (await host.onReply(session, id, (sent) => ucentralDriver.decodeReply(sent, reply))) return
      dropMessage(host, session, { what: 'unknown_reply', detail: String(id) })
    },
    onMalformed: (session, why) => dropMessage(host, session, { what: 'malformed_frame', detail: why }),
    onFlood(session) {
      const { mac, address } = session
      counters.add('flood')
      host.onTrouble(session, 'DEVICE_SENDS_TOO_MUCH')
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

/** The number of devices to remember as already warned about. */
const MAX_WARNED = 10_000

/**
 * An access point whose `gateway.json` names another host than the gateway's certificate disconnects without a message
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
