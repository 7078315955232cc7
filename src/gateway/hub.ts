import { recordDisconnects } from '../devices/sessions/record-disconnect.ts'
import type { SessionKey } from '../devices/sessions/store.ts'
import type { Context } from '../platform/context.ts'
import { createConnects } from './connects.ts'
import { type GatewayCounters, createGatewayCounters } from './counters.ts'
import { type DeviceLink, NO_EPOCH } from './device-link.ts'
import { type Dispatcher, startDispatcher } from './dispatcher.ts'
import { gatherFacts } from './facts.ts'
import { type LinkRegistry, createLinkRegistry } from './link-registry.ts'
import type { LinkHost } from './protocol.ts'
import { createReports } from './reports.ts'

export interface HubOptions {
  readonly nodeId: string
  /** How often it looks for commands without a wake. */
  readonly tickMs: number
  /** How many connections, reports or commands one transaction writes. */
  readonly batchSize: number
  readonly now: () => number
  /** True when the device CA signed the certificate of the HTTPS server that devices download from. */
  readonly localCertificates: boolean
}

/** Connects the links of devices to the dispatcher and the database. */
export interface Hub {
  readonly counters: GatewayCounters
  readonly links: LinkRegistry
  readonly dispatcher: Dispatcher
  /** For the protocols. */
  readonly host: LinkHost
  /**
   * Sends no more commands and records no more ends of sessions: devices reconnect right after a restart, and the next
   * start handles the others.
   */
  prepareStop(): Promise<void>
  /** Resolves when everything that devices have sent is written, or lost because the database is unreachable. */
  stop(): Promise<void>
}

/** Sends commands and writes what devices do until `stop`. */
export function startHub(ctx: Context, options: HubOptions): Hub {
  const { nodeId, batchSize, now } = options
  const counters = createGatewayCounters()
  const links = createLinkRegistry()
  const dispatcher = startDispatcher(ctx, { ...options, links })
  const connects = createConnects(ctx, nodeId, batchSize)
  const reports = createReports(ctx, batchSize)
  const disconnects = gatherFacts<SessionKey>(ctx, {
    name: 'ends of sessions',
    async write(keys) {
      // A device replies before its connection closes. Without the reply, its command would be lost with the session.
      await dispatcher.flushOutcomes()
      await recordDisconnects(ctx, keys)
    },
    idOf: ({ deviceId, epoch }) => ({ deviceId, epoch }),
  })
  let areEndsIgnored = false

  function recordEnd({ deviceId, epoch }: DeviceLink): void {
    if (epoch !== NO_EPOCH && !areEndsIgnored) void disconnects.add({ deviceId, epoch })
  }

  const host: LinkHost = {
    ctx,
    counters,
    now,
    async connect(link, facts) {
      const { epoch } = await connects.add({ mac: link.mac, family: link.family, facts })
      link.epoch = epoch
      // The link may have closed while its connection was being recorded.
      if (link.isClosed) recordEnd(link)
      else links.attach(link)
      dispatcher.kick()
    },
    report: (report) => reports.add(report),
    onReply: (link, callId, decode) => dispatcher.onReply(link, callId, decode),
    onEvent: (link, event) => dispatcher.onEvent(link, event),
    onClosed(link) {
      links.detach(link)
      dispatcher.onClosed(link)
      recordEnd(link)
    },
  }
  return {
    counters,
    links,
    dispatcher,
    host,
    async prepareStop() {
      await dispatcher.stopSending()
      areEndsIgnored = true
    },
    async stop() {
      await Promise.all([dispatcher.stop(), connects.idle(), reports.idle(), disconnects.stop()])
    },
  }
}
