import { type DeviceTrouble, recordDeviceTroubles } from '../devices/events/record-trouble.ts'
import { recordIdleDevices } from '../devices/commands/record-commands.ts'
import { listAwaitedRestarts } from '../devices/commands/store-awaited.ts'
import { type IdleDevice, listLostCalls } from '../devices/commands/store-lost.ts'
import type { Context } from '../platform/context.ts'
import type { Appliances } from './links/appliances.ts'
import { createDeviceLookup } from './links/device-lookup.ts'
import { deviceSessions } from './links/device-sessions.ts'
import { type GatewayCounters, createGatewayCounters } from './counters.ts'
import { deviceCommands } from './commands/device-commands.ts'
import type { DeviceLink } from './links/device-link.ts'
import type { Dispatcher } from './commands/dispatcher.ts'
import type { SentCommand } from './driver.ts'
import { createFailureLevel } from './failure-level.ts'
import { gatherFacts, gatherUnlockedFacts } from './gather-facts.ts'
import type { LinkRegistry } from './links/link-registry.ts'
import { startSide } from './links/link-side.ts'
import type { LinkHost } from './protocol.ts'
import { type Refusals, createRefusals } from './admission/refusals.ts'
import { createReports } from './reports.ts'

export interface HubOptions {
  readonly appliances: Appliances
  readonly nodeId: string
  /** The interval of the search for commands without a wake. */
  readonly tickMs: number
  /** The number of connections, reports or commands that one transaction writes. */
  readonly batchSize: number
  readonly now: () => number
  readonly monotonicMs: () => number
  /** True when the device CA signed the certificate of the HTTPS server that devices download from. */
  readonly localCertificates: boolean
}

/** Connects the links of devices to the dispatcher and the database. */
export interface Hub {
  readonly counters: GatewayCounters
  readonly refusals: Refusals
  readonly links: LinkRegistry<DeviceLink>
  readonly dispatcher: Dispatcher<DeviceLink, SentCommand>
  /** The interface for the protocols. */
  readonly host: LinkHost
  /**
   * Sends no more commands and records no more ends of sessions: devices reconnect right after a restart, and the next
   * start handles the others.
   */
  prepareStop(): Promise<void>
  /** Resolves when everything that devices have sent is written, or lost because the database is unreachable. */
  stop(): Promise<void>
}

/** Sends commands and records the devices' messages until `stop`. */
export function startHub(ctx: Context, options: HubOptions): Hub {
  const { nodeId, tickMs, batchSize, now, monotonicMs, appliances } = options
  const counters = createGatewayCounters()
  const refusals = createRefusals(() => ctx.clock.now().getTime())
  const reports = createReports(ctx, batchSize)
  const troubles = gatherFacts<DeviceTrouble>(ctx, {
    name: 'troubles of devices',
    write: (items) => recordDeviceTroubles(ctx, items),
    idOf: (trouble) => trouble,
  })
  const devices = startSide(ctx, {
    name: 'gateway-commands',
    sessions: deviceSessions(ctx, nodeId, batchSize),
    commands: deviceCommands(ctx, options),
    tickMs,
    batchSize,
    now,
    onShared: (deviceId) => void troubles.add({ deviceId, type: 'DEVICE_CERTIFICATE_CLONED' }),
  })
  const { links, dispatcher } = devices
  const awaited = createDeviceLookup(ctx, {
    name: 'restarts of parts of devices',
    batchSize,
    read: listAwaitedRestarts,
    failure: 'could not look up which parts of a device restart; they will time out',
  })
  const lost = createDeviceLookup(ctx, {
    name: 'lost commands of devices',
    batchSize,
    read: listLostCalls,
    failure: 'could not look up which commands of a device were lost; its upgrade will wait longer',
  })
  const idle = gatherUnlockedFacts<IdleDevice>(ctx, {
    name: 'devices that execute nothing',
    rowOf: ({ deviceId }) => deviceId,
    write: (some, isRepeated) => recordIdleDevices(ctx, some, isRepeated),
    idOf: ({ deviceId, epoch }) => ({ deviceId, epoch }),
  })
  return {
    counters,
    refusals,
    links,
    dispatcher,
    host: {
      ...devices.host,
      appliances: appliances.host,
      ctx,
      counters,
      refusals,
      now,
      monotonicMs,
      failureLevel: createFailureLevel('error', monotonicMs),
      report: (report) => reports.add(report),
      listAwaitedRestarts: (deviceId) => awaited.list(deviceId),
      listLostCalls: (deviceId) => lost.list(deviceId),
      onIdle: ({ deviceId, epoch }, executing = []) => void idle.add({ deviceId, epoch, executing }),
      onTrouble: ({ deviceId }, type) => void troubles.add({ deviceId, type }),
    },
    async prepareStop() {
      await Promise.all([devices.prepareStop(), appliances.prepareStop()])
    },
    async stop() {
      await Promise.all([devices.stop(), appliances.stop(), awaited.idle(), lost.idle(), reports.stop()])
      await Promise.all([troubles.stop(), idle.stop()])
    },
  }
}
