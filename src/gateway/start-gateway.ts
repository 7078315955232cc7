import { recordConnects } from '../devices/sessions/record-connect.ts'
import { recordDisconnects } from '../devices/sessions/record-disconnect.ts'
import { recordNodeStarted, recordNodeStopped } from '../devices/sessions/record-node.ts'
import type { OpenedSession, SessionKey, SessionOpening } from '../devices/sessions/store.ts'
import type { Context } from '../platform/context.ts'
import { createAdmission } from './admission.ts'
import { createBatcher } from './batch.ts'
import { closeCodes } from './close-codes.ts'
import { type GatewayCounters, createGatewayCounters } from './counters.ts'
import type { GatewayTls } from './device-ca.ts'
import { createDispatcher } from './dispatcher.ts'
import { drivers } from './drivers/index.ts'
import { createJournal } from './journal.ts'
import { type Limits, defaultLimits } from './limits.ts'
import { createReports } from './reports.ts'
import { createSessionRegistry } from './session-registry.ts'
import { sweepDatabase, watchSessions } from './sweep.ts'
import { type ReceiveHost, dropMessage, receiveCall } from './ucentral/receive.ts'
import { startUcentralServer } from './ucentral/server.ts'
import { Session, type SessionHost } from './ucentral/session.ts'

export interface GatewayOptions {
  readonly host: string
  /** 0 = any free one. */
  readonly port: number
  readonly tls: GatewayTls
  /** The same after each start of the installation, so that a restarted process knows what its former self left. */
  readonly nodeId: string
  readonly limits?: Partial<Limits>
  /** Measures waits, and unlike the clock is never set. */
  readonly monotonicMs?: () => number
}

export interface Gateway {
  readonly port: number
  readonly counters: GatewayCounters
  /** Closes all sessions, so that devices come back soon, and writes what is under way. */
  stop(): Promise<void>
}

/** Opens the listener for devices and carries commands to them until `stop`. */
export async function startGateway(ctx: Context, options: GatewayOptions): Promise<Gateway> {
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const { nodeId, monotonicMs: now = () => performance.now() } = options
  await recordNodeStarted(ctx, nodeId)
  const hub = createHub(ctx, { nodeId, limits, now })
  const { counters, dispatcher, open } = hub
  const server = await startUcentralServer({
    host: options.host,
    port: options.port,
    tls: options.tls,
    admission: createAdmission(limits.admission),
    now,
    onSession(socket, peer) {
      counters.add('sessions')
      hub.begin(new Session(socket, peer, hub.sessionHost))
    },
    onRefused(why, address) {
      counters.add(`refused_${why}`)
      ctx.log.debug({ why, address }, 'refused a connection')
    },
  })
  const stopListening = ctx.wakes.on('commands', () => dispatcher.kick())
  const stopTicking = repeat(limits.tickMs, async () => {
    server.dropStrangers(now() - limits.upgradeMs)
    watchSessions(open, now(), limits)
    dispatcher.kick()
    await Promise.all([dispatcher.tick(), hub.flush()])
  })
  const stopSweeping = repeat(limits.sweepMs, () => sweepDatabase(ctx, { nodeId, sessions: hub.sessions, counters }))
  return {
    port: server.port,
    counters,
    async stop() {
      stopListening()
      await Promise.all([stopTicking(), stopSweeping()])
      hub.closeSessions()
      await server.close()
      await Promise.all([dispatcher.stop(), hub.idle()])
      await recordNodeStopped(ctx, nodeId)
    },
  }
}

interface HubOptions {
  readonly nodeId: string
  readonly limits: Limits
  readonly now: () => number
}

/** Where sessions, dispatcher and database meet. */
function createHub(ctx: Context, { nodeId, limits, now }: HubOptions) {
  const counters = createGatewayCounters()
  const sessions = createSessionRegistry()
  /** Every socket that has become a session, connected or not. */
  const open = new Set<Session>()
  /** By MAC. */
  const newest = new Map<string, Session>()
  let isStopping = false
  const connects = createBatcher<SessionOpening, OpenedSession>({
    maxItems: limits.batchSize,
    keyOf: ({ mac }) => mac,
    run: (openings) => recordConnects(ctx, nodeId, openings),
  })
  const reports = createReports(ctx, limits.batchSize)
  const disconnects = createJournal<SessionKey>((keys) => recordDisconnects(ctx, keys), ctx.log)
  /** Devices that go because the service stops come right back: the next start sees to those that do not. */
  const recordEnd = ({ deviceId, epoch, isConnected }: Session): void => {
    if (isConnected && !isStopping) disconnects.add({ deviceId, epoch })
  }
  const dispatcher = createDispatcher(ctx, {
    nodeId,
    driver: drivers.ucentral,
    sessions,
    now,
    batchSize: limits.batchSize,
  })
  const host: ReceiveHost = {
    ctx,
    counters,
    dispatcher,
    report: (report) => reports.add(report),
    connect: (opening) => connects.add(opening),
    attach(session) {
      // It may have gone while its connection was being written.
      if (session.isClosed) recordEnd(session)
      else sessions.attach(session)
    },
  }
  const sessionHost: SessionHost = {
    now,
    onCall: (session, call) => receiveCall(host, session, call),
    onReply(session, id, reply) {
      if (dispatcher.onReply(session, id, reply)) return
      dropMessage(host, session, { what: 'unknown_reply', detail: String(id) })
    },
    onMalformed: (session, why) => dropMessage(host, session, { what: 'malformed_frame', detail: why }),
    onClosed(session) {
      open.delete(session)
      if (newest.get(session.mac) === session) newest.delete(session.mac)
      sessions.detach(session)
      dispatcher.onClosed(session)
      recordEnd(session)
    },
  }
  return {
    counters,
    sessions,
    open,
    dispatcher,
    sessionHost,
    begin(session: Session) {
      const last = newest.get(session.mac)
      // One hello is waited for a device: its certificate could open thousands of sockets that say nothing.
      if (last?.isConnected === false) last.terminate()
      newest.set(session.mac, session)
      open.add(session)
    },
    flush: () => disconnects.flush(),
    closeSessions() {
      isStopping = true
      for (const session of open) session.close(closeCodes.restart, 'the service restarts')
    },
    async idle() {
      await Promise.all([connects.idle(), reports.idle(), disconnects.flush()])
    },
  }
}

/** Calls `work` again and again, never twice at a time; answers with the way to stop and await the last call. */
function repeat(intervalMs: number, work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  const timer = setInterval(() => {
    running ??= work().finally(() => void (running = null))
  }, intervalMs)
  return async () => {
    clearInterval(timer)
    await running
  }
}
