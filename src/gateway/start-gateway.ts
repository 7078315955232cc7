import { X509Certificate } from 'node:crypto'
import { createLostDevicesSweep, recordNodeStarted, recordNodeStopped } from '../devices/sessions/record-node.ts'
import type { Context } from '../platform/context.ts'
import type { GatewayCounters } from './counters.ts'
import type { GatewayTls } from './device-ca.ts'
import { createHub } from './hub.ts'
import { type Limits, defaultLimits } from './limits.ts'
import { sweepDatabase } from './sweep.ts'
import { startUcentralServer } from './ucentral/server.ts'

export interface GatewayOptions {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  readonly tls: GatewayTls
  /** Stays the same over restarts, so that a new process finds the sessions that its predecessor left. */
  readonly nodeId: string
  /** True when the device CA signed the certificate of the HTTPS server that devices download from. */
  readonly localCertificates?: boolean
  readonly limits?: Partial<Limits>
  /** Measures waits; unlike the clock, nobody sets it. */
  readonly monotonicMs?: () => number
}

export interface Gateway {
  readonly port: number
  readonly counters: GatewayCounters
  /** Closes all sessions, so that devices reconnect soon, and completes pending writes. */
  stop(): Promise<void>
}

/** Opens the listener for devices and sends commands to them until `stop`. */
export async function startGateway(ctx: Context, options: GatewayOptions): Promise<Gateway> {
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const { nodeId, monotonicMs: now = () => performance.now(), localCertificates = false } = options
  await recordNodeStarted(ctx, nodeId)
  const sweepLostDevices = createLostDevicesSweep(ctx, now)
  // The grace of lost devices begins now.
  await sweepLostDevices()
  const gatewayName = new X509Certificate(options.tls.cert).toLegacyObject().subject.CN
  const hub = createHub(ctx, { nodeId, limits, now, localCertificates, gatewayName: String(gatewayName) })
  const { counters, dispatcher } = hub
  const server = await startUcentralServer({
    host: options.host,
    port: options.port,
    tls: options.tls,
    admission: limits.admission,
    now,
    times: limits,
    mayOpen: (mac) => hub.mayOpen(mac),
    onSession: (socket, peer) => hub.openSession(socket, peer),
    onRefused(why, address) {
      counters.add(`refused_${why}`)
      ctx.log.debug({ why, address }, 'refused a connection')
    },
  })
  const stopListening = ctx.wakes.on('commands', () => dispatcher.kick())
  const stopTicking = repeat(limits.tickMs, async () => {
    server.dropLate()
    hub.look()
    dispatcher.kick()
    await Promise.all([dispatcher.tick(), hub.flush()])
  })
  const stopSweeping = repeat(limits.sweepMs, () =>
    sweepDatabase(ctx, { nodeId, sessions: hub.sessions, counters, sweepLostDevices }),
  )
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

/** Calls `work` at intervals, never twice at a time. Returns a function that stops this and awaits the last call. */
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
