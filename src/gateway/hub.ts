import type { WebSocket } from 'ws'
import { recordDisconnects } from '../devices/sessions/record-disconnect.ts'
import type { SessionKey } from '../devices/sessions/store.ts'
import type { Context } from '../platform/context.ts'
import { Allowances } from './allowance.ts'
import { closeCodes } from './close-codes.ts'
import { createConnects } from './connects.ts'
import { type GatewayCounters, createGatewayCounters } from './counters.ts'
import { type Dispatcher, createDispatcher } from './dispatcher.ts'
import { drivers } from './drivers/index.ts'
import { createJournal } from './journal.ts'
import type { Limits } from './limits.ts'
import { createReports } from './reports.ts'
import { type SessionRegistry, createSessionRegistry } from './session-registry.ts'
import { warnOfMissingUptimes, watchSessions } from './sweep.ts'
import { createTurns } from './turns.ts'
import { TELEMETRY_CALL_ID } from './ucentral/call-ids.ts'
import { type ReceiveHost, dropMessage, receiveCall } from './ucentral/receive.ts'
import type { Peer } from './ucentral/server.ts'
import { Session, type SessionHost } from './ucentral/session.ts'

export interface HubOptions {
  readonly nodeId: string
  readonly limits: Limits
  readonly now: () => number
  /** The device CA signs the HTTPS server that devices download from. */
  readonly localCertificates: boolean
  /** The common name of the gateway's certificate. */
  readonly gatewayName: string
}

/** Where sessions, dispatcher and database meet. */
export interface Hub {
  readonly counters: GatewayCounters
  readonly sessions: SessionRegistry
  readonly dispatcher: Dispatcher
  /** Every socket that has become a session, connected or not. */
  readonly open: Iterable<Session>
  /** False for a device that has taken too much of late. */
  mayOpen(mac: string): boolean
  openSession(socket: WebSocket, peer: Peer): void
  /** Regular work: looks after sessions. */
  look(): void
  /** Tries again to write what could not be written. Never rejects. */
  flush(): Promise<void>
  /** Closes every session; that their devices go is not recorded. */
  closeSessions(): void
  /** Resolves when all that devices have said is written. */
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
    driver: drivers.ucentral,
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
      // It may have gone while its connection was being written.
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

/** Devices of which it is known that they were warned about. */
const MAX_WARNED = 10_000

/** An access point that was given another name than that of the certificate leaves so and waits for half an hour. */
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

/** Every socket that has become a session. */
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
      // One hello is waited for a device: its certificate could open thousands of sockets that say nothing.
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

/** What of sessions is written down, many at a time. */
interface Records extends Pick<ReceiveHost, 'connect' | 'report'> {
  end(session: Session): void
  /** Ends are no longer recorded: devices that go as the service stops come right back, and the next start sees to the others. */
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
