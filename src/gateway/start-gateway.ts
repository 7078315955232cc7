import { setImmediate as nextTurn } from 'node:timers/promises'
import { createLostDevicesSweep, recordNodeStarted, recordNodeStopped } from '../devices/sessions/record-node.ts'
import type { Context } from '../platform/context.ts'
import { startAppliances } from './links/appliances.ts'
import type { GatewayCounters } from './counters.ts'
import { startHub } from './hub.ts'
import { type Limits, defaultLimits } from './limits.ts'
import { startPoller } from '../platform/time/poller.ts'
import { createRunningClock } from '../platform/time/running-clock.ts'
import type { LinkHost, Listener, Protocol } from './protocol.ts'
import type { Refusals } from './admission/refusals.ts'
import { closeRevoked, sweepDatabase } from './sweep.ts'

export interface GatewayOptions {
  /** The protocols that devices may use; see createProtocols. */
  readonly protocols: readonly Protocol[]
  /** Stays the same over restarts, so that a new process finds the sessions that its predecessor left. */
  readonly nodeId: string
  /** True when the device CA signed the certificate of the HTTPS server that devices download from. */
  readonly localCertificates?: boolean
  readonly limits?: Partial<Limits>
  /** Measures waits; unlike the wall clock, it can't be set. A test's clock counts whether or not the gateway runs. */
  readonly monotonicMs?: () => number
}

export interface Gateway {
  /** @throws Error when no protocol of the gateway has this family. */
  portOf(family: string): number
  readonly counters: GatewayCounters
  readonly refusals: Refusals
  /** The number of devices and edge appliances that are connected. */
  countLinks(): number
  /** Closes all links, so that devices reconnect soon, and completes pending writes. */
  stop(): Promise<void>
}

/** Opens the listeners for devices and sends commands to them until `stop`. */
export async function startGateway(ctx: Context, options: GatewayOptions): Promise<Gateway> {
  const { tickMs, sweepMs, batchSize }: Limits = { ...defaultLimits, ...options.limits }
  const { nodeId, monotonicMs = () => performance.now(), localCertificates = false } = options
  const now = options.monotonicMs ?? createRunningClock()
  await recordNodeStarted(ctx, nodeId)
  const sweepLostDevices = createLostDevicesSweep(ctx, now)
  // The grace of lost devices begins now.
  await sweepLostDevices()
  const appliances = await startAppliances(ctx, { nodeId, tickMs, sweepMs, batchSize, now })
  const hub = startHub(ctx, { nodeId, tickMs, batchSize, now, monotonicMs, localCertificates, appliances })
  const { counters, refusals, dispatcher, links } = hub
  const listeners = await listenAll(options.protocols, hub.host).catch(async (error: unknown) => {
    await hub.stop()
    throw error
  })
  const ticker = startPoller({
    name: 'gateway-tick',
    ctx,
    intervalMs: tickMs,
    async work() {
      // Messages that have arrived while this thread was stopped come before it.
      await nextTurn()
      for (const listener of listeners.values()) await listener.look()
      dispatcher.endLate()
      appliances.dispatcher.endLate()
      return null
    },
  })
  const sweeper = startPoller({
    name: 'gateway-sweep',
    ctx,
    intervalMs: sweepMs,
    first: 'after the interval',
    async work() {
      await sweepDatabase(ctx, { nodeId, links, appliances: appliances.links, counters, sweepLostDevices })
      return null
    },
  })
  const revoker = startPoller({
    name: 'gateway-revocations',
    ctx,
    wake: 'revocations',
    intervalMs: sweepMs,
    first: 'after the interval',
    async work() {
      await closeRevoked(ctx, links)
      return null
    },
  })
  return {
    portOf(family) {
      const listener = listeners.get(family)
      if (listener === undefined) throw new Error(`The gateway does not speak the protocol ${family}`)
      return listener.port
    },
    counters,
    refusals,
    countLinks: () => links.count() + appliances.links.count(),
    async stop() {
      await Promise.all([ticker.stop(), sweeper.stop(), revoker.stop(), hub.prepareStop()])
      await closeAll(listeners)
      await hub.stop()
      await recordNodeStopped(ctx, nodeId)
    },
  }
}

type Listeners = ReadonlyMap<string, Listener>

/** @returns The listeners by family. When one can't start, none stays open. */
async function listenAll(protocols: readonly Protocol[], host: LinkHost): Promise<Listeners> {
  const listeners = new Map<string, Listener>()
  try {
    for (const protocol of protocols) listeners.set(protocol.family, await protocol.listen(host))
  } catch (error) {
    await closeAll(listeners)
    throw error
  }
  return listeners
}

async function closeAll(listeners: Listeners): Promise<void> {
  await Promise.all([...listeners.values()].map((listener) => listener.close()))
}
