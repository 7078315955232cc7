import type { WebSocket } from 'ws'
import { recordDisconnects } from '../devices/sessions/record-disconnect.ts'
import type { SessionKey } from '../devices/sessions/store.ts'
import type { Context } from '../platform/context.ts'
import { Allowances } from './allowance.ts'
import { closeCodes } from './close-codes.ts'
import { createConnects } from './connects.ts'
import { type GatewayCounters, createGatewayCounters } from './counters.ts'
import { type Dispatcher, createDispatcher } from './dispatcher.ts'
import { createJournal } from './journal.ts'
import type { Limits } from './limits.ts'
import { createReports } from './reports.ts'
import { type SessionRegistry, createSessionRegistry } from './session-registry.ts'
import { warnOfMissingUptimes, watchSessions } from './sweep.ts'
import { createTurns } from './turns.ts'
import { TELEMETRY_CALL_ID } from './ucentral/call-ids.ts'
import { ucentral } from './ucentral/driver.ts'
import { type ReceiveHost, dropMessage, receiveCall } from './ucentral/receive.ts'
import type { Peer } from './ucentral/server.ts'
import { Session, type SessionHost } from './ucentral/session.ts'

export interface HubOptions {
  readonly nodeId: string
  readonly limits: Limits
  readonly now: () => number
  /** True when the device CA signed the certificate of the HTTPS server that devices download from. */
  readonly localCertificates: boolean
  /** The common name of the gateway's certificate. */
  readonly gatewayName: string
}

/** Connects device sessions to the dispatcher and the database. */
export interface Hub {
  readonly counters: GatewayCounters
  readonly sessions: SessionRegistry
  readonly dispatcher: Dispatcher
  /** All open sessions, whether or not their devices have sent `connect`. */
  readonly open: Iterable<Session>
  /** False for a device that has recently exceeded its allowance. */
  mayOpen(mac: string): boolean
  openSession(socket: WebSocket, peer: Peer): void
  /** Checks all sessions; called at regular intervals. */
  look(): void
  /** Retries failed writes. Never rejects. */
  flush(): Promise<void>
  /** Closes every session without recording that the devices disconnected. */
  closeSessions(): void
  /** Resolves when everything that devices have sent is written. */
  idle(): Promise<void>
}

export function createHub(ctx: Context, { nodeId, limits, now, localCertificates, gatewayName }: HubOptions): Hub {
  const { batchSize } = limits
  const counters = createGatewayCounters()
  const sessions = createSessionRegistry()
  const sockets = createSockets()
  const records = createRecords(ctx, nodeId, batchSize)
  const dispatcher = createDispatcher(ctx, {
    nodeId,
    driver: ucentral,
    sessions,
    now,
    batchSize,
    localCertificates,
  })
  const host: ReceiveHost = {
    ctx,
    counters,
    dispatcher,
    report: records.report,
    connect: records.connect,
    attach(session) {
      // The session may have closed while its connection was being recorded.
      if (session.isClosed) records.end(session)
      else sessions.attach(session)
    },
  }
  const allowances = new Allowances()
  const sessionHost = createSessionHost({ host, sessions, sockets, allowances, records, now, gatewayName })
  return {
    counters,
    sessions,
    dispatcher,
    open: sockets.open,
    mayOpen: (mac) => !allowances.isSpent(mac, now()),
    openSession(socket, peer) {
      counters.add('sessions')
      const allowance = allowances.open(peer.mac, now())
      sockets.add(new Session(socket, { ...peer, allowance }, sessionHost))
    },
    look() {
      watchSessions(sockets.open, now(), limits)
      warnOfMissingUptimes(ctx, sessions.all(), now())
      allowances.sweep(now())
    },
    flush: () => records.flush(),
    closeSessions() {
      records.forgetEnds()
      for (const session of sockets.open) session.close(closeCodes.restart, 'the service restarts')
    },
    idle: () => records.idle(),
  }
}

interface SessionHostParts extends Pick<Hub, 'sessions'> {
  readonly host: ReceiveHost
  readonly sockets: Sockets
  readonly allowances: Allowances
  readonly records: Records
  readonly now: () => number
  readonly gatewayName: string
}

function createSessionHost(parts: SessionHostParts): SessionHost {
  const { host, sessions, sockets, allowances, records, now, gatewayName } = parts
  const warnOfSilent = createSilentLeaveWarning(host, gatewayName)
  const { ctx, counters, dispatcher } = host
  return {
    now,
    turns: createTurns(now),
    onCall: (session, call) => receiveCall(host, session, call),
    async onReply(session, id, reply) {
      if (id === TELEMETRY_CALL_ID) {
        session.hasAnsweredTelemetry = true
        return
      }
      if (await dispatcher.onReply(session, id, reply)) return
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
      sessions.detach(session)
      dispatcher.onClosed(session)
      if (session.isLeftSilently) warnOfSilent(session)
      records.end(session)
    },
  }
}

/** How many devices are remembered as already warned about. */
const MAX_WARNED = 10_000

/**
 * An access point whose `gateway.json` names another host than the gateway's certificate leaves without a message
 * and waits for half an hour.
 */
function createSilentLeaveWarning({ ctx, counters }: ReceiveHost, gatewayName: string): (session: Session) => void {
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

/** Persists session opens, reports and closes in batches. */
interface Records extends Pick<ReceiveHost, 'connect' | 'report'> {
  end(session: Session): void
  /** Stops recording ends: devices reconnect right after a restart, and the next start handles the others. */
  forgetEnds(): void
  flush(): Promise<void>
  idle(): Promise<void>
}

function createRecords(ctx: Context, nodeId: string, batchSize: number): Records {
  const connects = createConnects(ctx, nodeId, batchSize)
  const reports = createReports(ctx, batchSize)
  const disconnects = createJournal<SessionKey>((keys) => recordDisconnects(ctx, keys), ctx.log)
  let isStopping = false
  return {
    connect: (opening) => connects.add(opening),
    report: (report) => reports.add(report),
    end({ deviceId, epoch, isConnected }) {
      if (isConnected && !isStopping) disconnects.add({ deviceId, epoch })
    },
    forgetEnds() {
      isStopping = true
    },
    flush: () => disconnects.flush(),
    async idle() {
      await Promise.all([connects.idle(), reports.idle(), disconnects.flush()])
    },
  }
}
