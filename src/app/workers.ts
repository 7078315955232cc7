import { join } from 'node:path'
import type pg from 'pg'
import { uuidv7 } from '../platform/uuidv7.ts'
import { accountTasks } from '../accounts/tasks.ts'
import { sshUserKey } from '../devices/call-home/ssh-user.ts'
import { type SupportFiles, supportTasks } from '../devices/support/support-files.ts'
import { deviceTasks } from '../devices/tasks.ts'
import { prepareSeries, seriesTasks } from '../devices/telemetry/tasks.ts'
import type { FirmwareFiles } from '../firmware/firmware.ts'
import { firmwareTasks } from '../firmware/storage/storage.ts'
import type { GatewayTls } from '../gateway/certificates/device-ca.ts'
import { THUMBNAILS, mapTasks } from '../maps/tasks.ts'
import type { Context } from '../platform/context.ts'
import type { ImageFiles } from '../platform/images/image-files.ts'
import { type Jobs, startJobs } from '../platform/time/jobs.ts'
import type { LogOutput } from '../platform/log-output.ts'
import type { Mailer } from '../platform/outbound/mail.ts'
import type { OutboundHttp } from '../platform/outbound/outbound-http.ts'
import type { ConnectionPolicy } from '../platform/queues/connection-gate.ts'
import { loadOrMake } from '../platform/secrets.ts'
import { defaultMxedgeUpgradeOptions } from '../mxedges/upgrades/options.ts'
import { startMxedgeUpgrades } from '../mxedges/upgrades/worker.ts'
import type { TimeReading } from '../platform/time/service-clock.ts'
import { defaultRolloutOptions } from '../rollout/rollout.ts'
import { startEnds } from '../rollout/stops/end-upgrades.worker.ts'
import { mxedgeUpgradeChecks } from '../mxedges/upgrades/mxedge-checks.ts'
import { deviceUpgradeChecks } from '../rollout/gates/device-checks.ts'
import { startGateChecks } from '../rollout/gates/gate-checks.worker.ts'
import { startOnboarding } from '../upgrades/automatic/onboarding.worker.ts'
import { startAutoUpgrades } from '../upgrades/automatic/auto-upgrade.worker.ts'
import { startInclusions } from '../upgrades/include-new.worker.ts'
import { startMxedgeInclusions } from '../upgrades/mxedges/include-new.worker.ts'
import { startRollouts } from '../rollout/worker.ts'
import { previewTasks } from '../upgrades/previews/tasks.ts'
import { webhookTasks } from '../webhooks/tasks.ts'
import { startWebhookWorkers } from '../webhooks/workers.ts'
import { startAlarmWatch } from './alarm-watch.ts'
import type { Closing } from './closing.ts'
import type { Config } from './config/config.ts'
import { imageTasks } from './images.ts'
import { listenError } from './listen-error.ts'
import { poolSizes } from './pool-sizes.ts'
import { RESERVES_MS } from './reserves.ts'
import { retentionTasks } from './retention.ts'
import { type GatewayThread, type GatewayThreadOptions, startGatewayThread } from './gateway/start-gateway-thread.ts'
import { type WatchedParts, conditionTasks } from './conditions/system-conditions.ts'

export interface WorkerParts {
  readonly config: Config
  readonly dataDir: string
  readonly connection: pg.PoolConfig
  readonly firmwareFiles: FirmwareFiles
  readonly imageFiles: ImageFiles
  readonly supportFiles: SupportFiles
  readonly outbound: OutboundHttp
  /** See ServedApi. */
  readonly charge: (account: string, databaseMs: number) => void
  readonly mailer: Mailer
  readonly watched: WatchedParts
  readonly gatewayTls: GatewayTls
  readonly edgeTls: GatewayTls
  /** See TlsMaterial. */
  readonly localCertificates: boolean
  /** Reads the service time. */
  readonly readTime: () => TimeReading
  readonly logOutput: LogOutput
  readonly closing: Closing
}

export type Workers = Pick<GatewayThread, 'ports' | 'failed' | 'countLinks' | 'listRefusals'>

/** Starts everything that runs in the background: chores, deliveries, rollouts, the gateway. */
export async function startWorkers(ctx: Context, parts: WorkerParts): Promise<Workers> {
  const { config, closing } = parts
  const jobs = await startJobs({
    connection: parts.connection,
    log: ctx.log,
    tasks: [
      ...webhookTasks(ctx, parts.mailer),
      ...accountTasks(ctx),
      ...previewTasks(ctx),
      ...firmwareTasks(ctx, parts.firmwareFiles),
      ...mapTasks(ctx, parts.imageFiles),
      ...imageTasks(ctx, parts.imageFiles),
      ...supportTasks(ctx, parts.supportFiles),
      ...conditionTasks(ctx, parts.watched),
      ...retentionTasks(ctx, config.retention),
      ...seriesTasks(ctx),
      ...deviceTasks(ctx),
    ],
  })
  closing.add('jobs', () => jobs.stop(), RESERVES_MS.jobs)
  closing.add('wish for thumbnails', wishForThumbnails(ctx, jobs))
  const webhooks = await startWebhookWorkers(ctx, {
    outbound: parts.outbound,
    limits: config.webhookLimits,
    charge: parts.charge,
  })
  closing.add('webhooks', (withinMs) => webhooks.stop(withinMs), RESERVES_MS.webhooks)
  let gatewayNode: string | null = null
  const rollouts = startRollouts(ctx, {
    ...defaultRolloutOptions,
    soakMs: config.rolloutSoakMs,
    gatewayNode: () => gatewayNode,
  })
  closing.add('rollouts', () => rollouts.stop())
  const checks = startGateChecks(ctx, parts.outbound, [deviceUpgradeChecks, mxedgeUpgradeChecks])
  closing.add('checks of upgrades', () => checks.stop())
  const ends = startEnds(ctx)
  closing.add('ends of upgrades', () => ends.stop())
  const inclusions = startInclusions(ctx)
  closing.add('devices that join upgrades', () => inclusions.stop())
  const automatic = startAutoUpgrades(ctx)
  closing.add('automatic upgrades', () => automatic.stop())
  const onboarding = startOnboarding(ctx)
  closing.add('upgrades of new devices', () => onboarding.stop())
  const edgeOptions = { ...defaultMxedgeUpgradeOptions, soakMs: config.rolloutSoakMs }
  const edgeUpgrades = startMxedgeUpgrades(ctx, edgeOptions)
  closing.add('upgrades of edge appliances', () => edgeUpgrades.stop())
  const edgeInclusions = startMxedgeInclusions(ctx)
  closing.add('edge appliances that join upgrades', () => edgeInclusions.stop())
  const alarms = startAlarmWatch(ctx)
  closing.add('alarms', () => alarms.stop())
  await prepareSeries(ctx)
  const options = await gatewayOptions(ctx, parts)
  const gateway = await startGatewayThread(ctx, options).catch((error: unknown) => {
    throw listenErrorOf(error, config)
  })
  // Before, the sessions of the former process may still seem to be open.
  gatewayNode = options.nodeId
  closing.add('gateway', (withinMs) => {
    gatewayNode = null
    return gateway.stop(withinMs)
  })
  return gateway
}

async function gatewayOptions(ctx: Context, parts: WorkerParts): Promise<GatewayThreadOptions> {
  const { connections: settings, host, ucentralPort: port, edgePort, netconfPort, logLevel } = parts.config
  const { devicesPerNetwork: maxPerNetwork, balancers } = settings
  const connections: ConnectionPolicy = { maxPerNetwork, balancers }
  return {
    connection: { ...parts.connection, max: poolSizes.gateway },
    dataDir: parts.dataDir,
    logLevel,
    logOutput: parts.logOutput,
    readTime: parts.readTime,
    protocols: {
      ucentral: { host, port, tls: parts.gatewayTls, connections },
      edge: { host, port: edgePort, tls: parts.edgeTls, dataDir: parts.dataDir, connections },
      netconf:
        netconfPort === null
          ? null
          : { host, port: netconfPort, privateKey: sshUserKey(ctx.secrets).privateKey, connections },
    },
    nodeId: await loadNodeId(parts.dataDir),
    localCertificates: parts.localCertificates,
  }
}

/** @returns A function that stops it. */
function wishForThumbnails(ctx: Context, jobs: Jobs): () => void {
  return ctx.wakes.on('thumbnails', () => {
    jobs.add(THUMBNAILS, null).catch((error: unknown) => ctx.log.warn({ err: error }, 'thumbnails have to wait'))
  })
}

/**
 * The id stays the same across restarts, so that the gateway recognizes the sessions that its former process left open.
 */
async function loadNodeId(dataDir: string): Promise<string> {
  return (await loadOrMake(join(dataDir, 'node-id'), () => Buffer.from(uuidv7()))).toString('utf8').trim()
}

/** The system names the port that it refused. */
function listenErrorOf(error: unknown, { ucentralPort, edgePort, netconfPort }: Config): unknown {
  const isNetconf = error instanceof Error && 'port' in error && netconfPort !== null && error.port === netconfPort
  if (isNetconf) return listenError(error, 'SIGNALBOX_NETCONF_PORT', netconfPort)
  const isEdge = error instanceof Error && 'port' in error && error.port === edgePort
  return isEdge
    ? listenError(error, 'SIGNALBOX_EDGE_PORT', edgePort)
    : listenError(error, 'SIGNALBOX_UCENTRAL_PORT', ucentralPort)
}
