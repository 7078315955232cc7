import { recordDisconnects } from '../devices/sessions/record-disconnect.ts'
import type { SessionKey } from '../devices/sessions/store.ts'
import type { Context } from '../platform/context.ts'
import { createConnects } from './connects.ts'
import { type GatewayCounters, createGatewayCounters } from './counters.ts'
import { type DeviceLink, NO_EPOCH } from './device-link.ts'
import { type Dispatcher, createDispatcher } from './dispatcher.ts'
import { createJournal } from './journal.ts'
import { type LinkRegistry, createLinkRegistry } from './link-registry.ts'
import type { LinkHost } from './protocol.ts'
import { createReports } from './reports.ts'

export interface HubOptions {
  readonly nodeId: string
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
  /** Retries failed writes. Never rejects. */
  flush(): Promise<void>
  /** Stops recording ends: devices reconnect right after a restart, and the next start handles the others. */
  ignoreEnds(): void
  /** Resolves when everything that devices have sent is written. */
  idle(): Promise<void>
}

export function createHub(ctx: Context, { nodeId, batchSize, now, localCertificates }: HubOptions): Hub {
  const counters = createGatewayCounters()
  const links = createLinkRegistry()
  const dispatcher = createDispatcher(ctx, { nodeId, links, now, batchSize, localCertificates })
  const connects = createConnects(ctx, nodeId, batchSize)
  const reports = createReports(ctx, batchSize)
  const disconnects = createJournal<SessionKey>((keys) => recordDisconnects(ctx, keys), ctx.log)
  let areEndsIgnored = false

  function recordEnd({ deviceId, epoch }: DeviceLink): void {
    if (epoch !== NO_EPOCH && !areEndsIgnored) disconnects.add({ deviceId, epoch })
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
    flush: () => disconnects.flush(),
    ignoreEnds() {
      areEndsIgnored = true
    },
    async idle() {
      await Promise.all([connects.idle(), reports.idle(), disconnects.flush()])
    },
  }
}
