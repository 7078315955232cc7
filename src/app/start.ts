import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { createPasswords } from '../access/authentication/password.ts'
import { createRequestLimits } from '../access/request-limits.ts'
import { createTokenUses } from '../access/authentication/token-uses.ts'
import { sweepSupportFiles } from '../devices/support/support-files.ts'
import { sweepFirmwareFiles } from '../firmware/storage/storage.ts'
import { openDataDir } from '../platform/data-dir.ts'
import { lowerBackend } from '../platform/embedded-postgres/lower-backend.ts'
import { sweepImages } from '../platform/images/image-files.ts'
import { type LogOutput, openLogOutput } from '../platform/log-output.ts'
import { type Logger, createLog } from '../platform/log.ts'
import { lowerHelperThreads } from '../platform/process/lower-helper-threads.ts'
import { servesLoopbackOnly } from '../platform/outbound/loopback.ts'
import { closeHttp } from '../http/turns/completion/finish-operations.ts'
import { type ConsoleFiles, readConsoleFiles } from '../http/console/console-files.ts'
import { renewDeviceCa } from '../gateway/certificates/renew-device-ca.ts'
import type { Context } from '../platform/context.ts'
import { createMailer } from '../platform/outbound/mail.ts'
import { openUnsentMails } from '../platform/outbound/unsent-mails.ts'
import { migrate, migrationsDir } from '../platform/database/migrate.ts'
import { warnOfOpenFilesLimit } from '../platform/process/open-files.ts'
import { egressProxyOf } from '../platform/outbound/egress-proxy.ts'
import { createOutboundHttp } from '../platform/outbound/outbound-http.ts'
import { systemClock } from '../platform/time/clock.ts'
import { createSecrets, loadMasterKey, loadOrMake } from '../platform/secrets.ts'
import { checkMasterKey } from '../platform/sealing/check-master-key.ts'
import { sealTables } from '../platform/sealing/seal-tables.ts'
import { removeServerFile, writeServerFile } from '../platform/server-file.ts'
import { agentGateway } from './agent-gateway.ts'
import { type Closing, createClosing } from './closing.ts'
import type { Config } from './config/config.ts'
import { explainDatabaseError, openDatabase } from './database.ts'
import { buildHttp } from './http.ts'
import { filterKnownImages, measureImages } from './images.ts'
import { listenError } from './listen-error.ts'
import { openContext } from './open-context.ts'
import { RESERVES_MS } from './reserves.ts'
import { poolSizes } from './pool-sizes.ts'
import { type Storage, openStorage } from './storage.ts'
import { createApartProcess } from './apart/start-apart-process.ts'
import { certificatesOf } from './conditions/system-conditions.ts'
import { gatewayNameOf, openTls } from './tls.ts'
import { isWildcard } from './wildcard.ts'
import { type Workers, startWorkers } from './workers.ts'

/** The folder into which the runner builds the console (scripts/builds.mjs). */
const CONSOLE_DIR = fileURLToPath(new URL('../../dist/console', import.meta.url))

/** All parts of the service stop within this time. */
export const STOP_WITHIN_MS = 19_000

export interface Running {
  /** Address of the service, without a trailing slash. */
  readonly url: string
  readonly ucentralPort: number
  /** Null where Junos devices can't call home. */
  readonly netconfPort: number | null
  readonly edgePort: number
  readonly operatorKey: string
  /** The number of devices and edge appliances that were connected about a second ago. */
  countLinks(): number
  /** For programs that do other work in the process of the service. */
  readonly ctx: Context
  readonly log: Logger
  /** Resolves with the reason when the service can't go on; the caller then calls `stop`. */
  readonly failed: Promise<string>
  /**
   * Stops everything in order; may be called twice.
   * @param withinMs After this time, whatever has not stopped is left as it is. Default {@link STOP_WITHIN_MS}.
   */
  stop(withinMs?: number): Promise<void>
}

/**
 * Starts the whole service; when it returns, everything answers.
 * @throws AppError with one line for the operator; parts that had started are stopped again.
 */
export async function startServer(config: Config): Promise<Running> {
  const logOutput = openLogOutput()
  const log = createLog(config.logLevel, logOutput)
  const closing = createClosing()
  const stop = once((withinMs: number = STOP_WITHIN_MS) => closing.close({ withinMs, log }))
  try {
    return { ...(await startParts(config, { log, logOutput, closing })), log, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

interface StartTools {
  readonly log: Logger
  readonly logOutput: LogOutput
  readonly closing: Closing
}

/** Opens the clients of HTTP for addresses that users choose, and for the services of the operator. */
function openOutbound(config: Config, closing: Closing) {
  const outbound = createOutboundHttp({
    allowCidrs: config.webhookAllowCidrs,
    allowLoopback: servesLoopbackOnly(config.host, config.baseUrl),
    proxy: config.egressProxy === null ? null : egressProxyOf(config.egressProxy),
  })
  closing.add('outbound http', () => outbound.close())
  // The operator's services may be anywhere.
  const operatorHttp = createOutboundHttp({ allowCidrs: ['0.0.0.0/0', '::/0'], allowLoopback: true })
  closing.add('operator http', () => operatorHttp.close())
  return { outbound, operatorHttp }
}

function openMails(
  { clock, log, secrets }: Context,
  { config, dataDir, closing }: { readonly config: Config; readonly dataDir: string; readonly closing: Closing },
) {
  const unsent = openUnsentMails({ dataDir, secrets, clock, log })
  const mailer = createMailer({ smtpUrl: config.smtpUrl, from: config.mailFrom, dataDir, log, unsent })
  closing.add('mailer', (withinMs) => mailer.close(withinMs), RESERVES_MS.mailer)
  return { mailer, unsent }
}

/** Deletes the files that no row names, and measures the pictures that were stored before sizes were recorded. */
async function sweepFiles(ctx: Context, { firmwareFiles, imageFiles, supportFiles }: Storage): Promise<void> {
  await sweepFirmwareFiles(ctx, firmwareFiles)
  await sweepSupportFiles(ctx, supportFiles)
  await sweepImages(ctx.log, imageFiles, (names) => filterKnownImages(ctx.db, names))
  await measureImages(ctx, imageFiles)
}

async function startParts(
  config: Config,
  { log, logOutput, closing }: StartTools,
): Promise<Omit<Running, 'log' | 'stop'>> {
  await warnOfOpenFilesLimit(log)
  await lowerHelperThreads()
  const dataDir = await openDataDir(config.dataDir)
  closing.add('data folder', () => dataDir.giveToOwner().finally(() => dataDir.release()))
  const secrets = createSecrets(await loadMasterKey(dataDir.path))
  const operatorKey = (await loadOrMake(join(dataDir.path, 'operator.key'), newOperatorKey)).toString('utf8').trim()
  const database = await openDatabase({ config, log, closing, program: 'server' })
  await migrate(database.connection, migrationsDir, (_, { number, of }) => {
    if (number === 1) log.info({ migrations: of }, 'migrating the database')
  }).catch((error: unknown) => {
    throw explainDatabaseError(config, error)
  })
  if (await renewDeviceCa(dataDir.path, systemClock.now())) log.info('the CA of devices has a new certificate')
  const tls = await openTls(config, dataDir.path)
  const { connection } = database
  const context = await openContext({
    connection: { ...connection, max: poolSizes.server },
    log,
    secrets,
    baseUrl: config.baseUrl,
    limits: config.limits,
    ...(database.isEmbedded && { lowerBackend }),
  })
  closing.add('context', (withinMs) => context.close(withinMs), RESERVES_MS.context)
  const { ctx } = context
  await checkMasterKey(ctx, join(dataDir.path, 'secret.key'))
  await sealTables(ctx)
  const storage = openStorage(ctx, dataDir.path, config.storage)
  const { firmwareFiles, imageFiles, supportFiles } = storage
  const { outbound, operatorHttp } = openOutbound(config, closing)
  const { mailer, unsent } = openMails(ctx, { config, dataDir: dataDir.path, closing })
  const tokenUses = createTokenUses(ctx)
  closing.add('token uses', () => tokenUses.stop())
  const requestLimits = createRequestLimits(config.accounts)
  // Set once the gateway listens.
  const listening: { netconfPort: number | null } & Pick<Workers, 'listRefusals'> = {
    netconfPort: null,
    listRefusals: () => Promise.resolve([]),
  }
  const callHomeHost = config.netconfHost ?? gatewayNameOf(config)
  let edgePort = config.edgePort
  const apart = createApartProcess(ctx, {
    connection: { ...connection, max: poolSizes.apart },
    lowersBackends: database.isEmbedded,
    dataDir: dataDir.path,
    logLevel: config.logLevel,
    readTime: () => context.readTime(),
    logOutput,
  })
  closing.add('expensive requests', (withinMs) => apart.stop(withinMs), RESERVES_MS.apart)
  const { http, charge } = await buildHttp(ctx, {
    apart,
    accounts: {
      passwords: createPasswords(),
      tokenUses,
      requestLimits,
      mailer,
      outbound,
      operatorHttp,
      settings: config.accounts,
    },
    operatorKey,
    tls: tls.http,
    network: {
      trustedProxies: config.connections.trustedProxies,
      balancers: config.connections.balancers,
      connectionsPerNetwork: config.connections.httpPerNetwork,
    },
    requestsPerAccount: config.connections.requestsPerAccount,
    deviceCaDir: config.ucentralTls === null ? dataDir.path : null,
    agents: agentGateway(dataDir.path, {
      address: () => ({ host: tls.gatewayHost, port: edgePort }),
      httpCa: tls.httpCa,
    }),
    storage,
    localCertificates: tls.localCertificates,
    outbound,
    console: await readConsole(log),
    webhookLimits: config.webhookLimits,
    listRefusals: () => listening.listRefusals(),
    callHomePlace: () => (listening.netconfPort === null ? null : { host: callHomeHost, port: listening.netconfPort }),
  })
  closing.add('http', (withinMs) => closeHttp(http, withinMs), RESERVES_MS.http)
  // This must run before the first upload can arrive.
  await sweepFiles(ctx, storage)
  const scheme = tls.http === null ? 'http' : 'https'
  const port = await listen(http, config, scheme)
  const url = `${scheme}://${urlHost(config.host)}:${port}`
  context.setAddress(url)
  if (config.baseUrl === null && isWildcard(config.host))
    log.warn(`SIGNALBOX_BASE_URL is not set: devices are told to download firmware from ${url}`)
  const { ports, failed, countLinks, listRefusals } = await startWorkers(ctx, {
    config,
    dataDir: dataDir.path,
    connection,
    firmwareFiles,
    imageFiles,
    supportFiles,
    watched: { storage, certificates: certificatesOf(tls) },
    outbound,
    charge,
    mailer,
    gatewayTls: tls.gateway,
    edgeTls: tls.edge,
    localCertificates: tls.localCertificates,
    readTime: () => context.readTime(),
    logOutput,
    closing,
  })
  listening.netconfPort = ports.netconfPort
  listening.listRefusals = listRefusals
  edgePort = ports.edgePort
  context.listen()
  await writeServerFile(dataDir.path, url)
  closing.add('server file', () => removeServerFile(dataDir.path))
  await dataDir.giveToOwner()
  // A mail server that hangs must not delay the start.
  void unsent.sendAll(mailer)
  return { url, ...ports, operatorKey, countLinks, ctx, failed: Promise.race([database.lost, failed]) }
}

async function readConsole(log: Logger): Promise<ConsoleFiles | null> {
  const files = await readConsoleFiles(CONSOLE_DIR)
  if (files === null) log.warn('the web console is not built, which npm start does: / is not served')
  return files
}

async function listen(http: FastifyInstance, { host, port }: Config, scheme: string): Promise<number> {
  // Fastify does not know the scheme of a server that it was given.
  const listenTextResolver = (address: string) => `Server listening at ${address.replace(/^https?/, scheme)}`
  try {
    await http.listen({ host, port, listenTextResolver })
  } catch (error) {
    throw listenError(error, 'SIGNALBOX_PORT', port)
  }
  const address = http.server.address() as AddressInfo
  return address.port
}

function urlHost(host: string): string {
  if (isWildcard(host)) return 'localhost'
  return isIP(host) === 6 ? `[${host}]` : host
}

function newOperatorKey(): Buffer {
  return Buffer.from(`${randomBytes(32).toString('base64url')}\n`)
}

function once<A extends unknown[]>(run: (...given: A) => Promise<void>): (...given: A) => Promise<void> {
  let running: Promise<void> | null = null
  return (...given) => (running ??= run(...given))
}
