import { randomBytes, randomUUID } from 'node:crypto'
import type { Refusals } from '../../../src/gateway/admission/refusals.ts'
import type { AddressInfo } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { verify } from '@node-rs/argon2'
import type { FastifyInstance } from 'fastify'
import { type Passwords, createPasswords } from '../../../src/access/authentication/password.ts'
import { createRequestLimits } from '../../../src/access/request-limits.ts'
import { type TokenUses, createTokenUses } from '../../../src/access/authentication/token-uses.ts'
import { bootstrap } from '../../../src/accounts/bootstrap.ts'
import type { AccountSettings } from '../../../src/accounts/parts.ts'
import { agentGateway } from '../../../src/app/agent-gateway.ts'
import { defaultLimits } from '../../../src/app/config/config-limits.ts'
import type { StorageSettings } from '../../../src/app/config/config-storage.ts'
import { buildHttp } from '../../../src/app/http.ts'
import type { HttpParts } from '../../../src/app/http-parts.ts'
import { type ContextOptions, type OpenContext, composeContext } from '../../../src/app/open-context.ts'
import { sweepSupportFiles } from '../../../src/devices/support/support-files.ts'
import { openStorage } from '../../../src/app/storage.ts'
import { DEFAULT_DOWNLOAD_LIMITS } from '../../../src/firmware/downloads/download-limits.ts'
import type { ConsoleFiles } from '../../../src/http/console/console-files.ts'
import type { Apart } from '../../../src/http/apart/messages.ts'
import type { Operation } from '../../../src/http/operation.ts'
import { type Clock, systemClock } from '../../../src/platform/time/clock.ts'
import type { Context } from '../../../src/platform/context.ts'
import { type DecodeLimits, DEFAULT_DECODE_LIMITS } from '../../../src/platform/images/decoder-limits.ts'
import { sweepImages } from '../../../src/platform/images/image-files.ts'
import type { Limits } from '../../../src/platform/limits.ts'
import { createMailer } from '../../../src/platform/outbound/mail.ts'
import { createOutboundHttp } from '../../../src/platform/outbound/outbound-http.ts'
import { createSecrets, loadMasterKey } from '../../../src/platform/secrets.ts'
import { nameLateStop } from '../../../src/platform/time/late-stop.ts'
import type { ServiceClock } from '../../../src/platform/time/service-clock.ts'
import { defaultWebhookLimits } from '../../../src/webhooks/limits/limits.ts'
import type { AnyJson } from '../contract/any-json.ts'
import type { TestDatabase } from '../database/database.ts'
import { lendDatabase } from '../database/lent-databases.ts'
import { createRequester } from './send-request.ts'

/** A context with a separate database, which is empty. */
export interface TestContext extends Pick<OpenContext, 'setAddress' | 'readTime'> {
  readonly ctx: Context
  readonly database: TestDatabase
  /** An empty folder that `close` removes. */
  readonly dataDir: string
  close(): Promise<void>
}

export async function createTestContext(
  clock: Clock = systemClock,
  {
    hasKeyFile = false,
    ...options
  }: Partial<Pick<ContextOptions, 'serviceClock' | 'secrets' | 'baseUrl' | 'limits'>> & {
    /** True if the data folder has the key of the secrets, for other threads. */
    readonly hasKeyFile?: boolean
  } = {},
): Promise<TestContext> {
  const { database, pools, log } = await lendDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-data-of-test-'))
  const context = await composeContext(pools, {
    log,
    secrets: createSecrets(hasKeyFile ? await loadMasterKey(dataDir) : randomBytes(32)),
    baseUrl: 'http://127.0.0.1',
    clock,
    serviceClock: serviceClockOf(clock),
    ...options,
  })
  return {
    ...context,
    database,
    dataDir,
    async close() {
      await nameLateStop(context.ctx.log, 'context', context.close())
      await nameLateStop(context.ctx.log, 'database', database.drop())
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Returns a service clock as if the service had been listening all the time. */
function serviceClockOf(clock: Clock): ServiceClock {
  return { nowMs: () => clock.now().getTime(), listeningSinceMs: () => 0 }
}

export interface TestOrg {
  readonly orgId: string
  readonly adminId: string
  readonly email: string
  readonly password: string
  readonly token: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Parsed JSON, or the text if it is not JSON. */
  readonly body: AnyJson
}

/** The real HTTP server on a free port, with one organization and its administrator. */
export interface TestServer extends TestContext {
  readonly http: FastifyInstance
  /** All operations under /api/v1. */
  readonly operations: readonly Operation[]
  readonly url: string
  /** The port to which agents are directed; a test that starts a gateway sets it. */
  readonly edge: { port: number }
  readonly org: TestOrg
  /** Tests flush these instead of waiting for a minute. */
  readonly tokenUses: TokenUses
  /** Adds another organization with its own administrator. */
  addOrg(name?: string): Promise<TestOrg>
  /** Calls `METHOD /path` (under /api/v1 unless the path starts with another root) with the token of `as`. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
}

export interface CallOptions {
  readonly body?: unknown
  readonly as?: TestOrg | null
  readonly headers?: Record<string, string>
}

/** Every administrator has this password until a test changes it. */
const PASSWORD = 'correct horse battery'

/**
 * The hashes of the first, the second, ... administrator of every server: a hash is slow by design. Two of one server
 * differ, because the server remembers by their hash who has logged in.
 */
const passwordHashes: Promise<string>[] = []

/** What a verification has found, by hash and password: it is as slow, and servers share their hashes. */
const verdicts = new Map<string, Promise<boolean>>()

function verifyOnce(hash: string, password: string): Promise<boolean> {
  const pair = `${hash}\n${password}`
  const verdict = verdicts.get(pair) ?? verify(hash, password)
  verdicts.set(pair, verdict)
  return verdict
}

/** The server's default settings. */
const accountSettings: AccountSettings = {
  registration: 'open',
  inviteCodes: [],
  gdpr: false,
  captcha: null,
  trustedOrigins: [],
  trustLoopback: true,
  oauthProviders: [],
  ssoDomains: new Map(),
  requestsPerHour: 5000,
  accountRequestsPerHour: 1_000_000,
}

/** Limits of uploads that a test tightens. */
export interface UploadBounds extends StorageSettings {
  readonly decode: DecodeLimits
}

/** Limits that a test tightens. */
interface BoundedThings {
  readonly limits: Partial<Limits>
  readonly connectionsPerNetwork: number
}

/** What the gateway has refused; a test's server has no gateway. */
interface RefusedThings {
  readonly refusals: Pick<Refusals, 'list'>
}

/** The process of expensive requests, which a test's server has only on request. */
interface ServedApart {
  readonly apart: (context: TestContext) => Apart
}

/** The clocks by which accounts take turns. */
type TurnClocks = Pick<HttpParts, 'clocks'>

/** The web console, which a test's server has only on request. */
interface ServedConsole {
  readonly console: ConsoleFiles | null
}

const roomy = { orgMaxBytes: 1024 ** 3, totalMaxBytes: 1024 ** 3 }
const uploadBounds: UploadBounds = {
  firmwareMaxBytes: 16 * 1024 * 1024,
  firmwareTrust: { keys: [], isRequired: false },
  firmwareDownloads: DEFAULT_DOWNLOAD_LIMITS,
  s3: null,
  firmware: roomy,
  pictures: roomy,
  support: roomy,
  diskReserveBytes: 0,
  decode: DEFAULT_DECODE_LIMITS,
}

export async function startTestServer(
  clock: Clock = systemClock,
  settings: Partial<AccountSettings> = {},
  smtpUrl: string | null = null,
  {
    console: consoleFiles = null,
    limits = {},
    connectionsPerNetwork,
    refusals = { list: () => [] },
    apart,
    clocks = {},
    ...bounds
  }: Partial<UploadBounds & ServedConsole & BoundedThings & RefusedThings & ServedApart & TurnClocks> = {},
): Promise<TestServer> {
  const context = await createTestContext(clock, {
    baseUrl: null,
    limits: { ...defaultLimits, ...limits },
    hasKeyFile: apart !== undefined,
  })
  const { ctx } = context
  const passwords = createPasswords(verifyOnce)
  const outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: true })
  const operatorHttp = createOutboundHttp({ allowCidrs: [], allowLoopback: true })
  const mailer = createMailer({
    smtpUrl,
    from: 'Test <test@example.test>',
    dataDir: context.dataDir,
    log: ctx.log,
  })
  const accounts = { ...accountSettings, ...settings }
  const tokenUses = createTokenUses(ctx)
  const requestLimits = createRequestLimits(accounts)
  const { decode, ...storageSettings } = { ...uploadBounds, ...bounds }
  const opened = openStorage(ctx, context.dataDir, storageSettings)
  const imageFiles = { ...opened.imageFiles, maxBytes: 1024 * 1024, decode }
  await sweepImages(ctx.log, imageFiles, async () => new Set())
  await sweepSupportFiles(ctx, opened.supportFiles)
  const edge = { port: 0 }
  const { http, operations } = await buildHttp(ctx, {
    accounts: { passwords, tokenUses, requestLimits, mailer, outbound, operatorHttp, settings: accounts },
    operatorKey: 'operator-key',
    tls: null,
    // The proxy is on another address of this machine.
    network: {
      trustedProxies: ['127.0.0.2/32'],
      ...(connectionsPerNetwork !== undefined && { connectionsPerNetwork }),
    },
    deviceCaDir: context.dataDir,
    agents: agentGateway(context.dataDir, {
      address: () => ({ host: '127.0.0.1', port: edge.port }),
      httpCa: null,
    }),
    storage: { ...opened, imageFiles },
    localCertificates: false,
    stream: { checkMs: 50 },
    outbound,
    console: consoleFiles,
    apart: apart?.(context) ?? null,
    clocks,
    webhookLimits: defaultWebhookLimits,
    listRefusals: () => Promise.resolve(refusals.list()),
    callHomePlace: () => ({ host: 'signalbox.example.test', port: 4334 }),
  })
  await http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = http.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  context.setAddress(url)
  const requester = createRequester()

  let admins = 0
  async function addOrg(orgName = 'Test'): Promise<TestOrg> {
    const email = `${randomUUID()}@example.test`
    const passwordHash = (passwordHashes[admins] ??= passwords.hash(PASSWORD))
    admins += 1
    const hashed: Passwords = { ...passwords, hash: () => passwordHash }
    const { orgId, adminId, apiToken } = await bootstrap(ctx, hashed, { email, password: PASSWORD, orgName })
    return { orgId, adminId, email, password: PASSWORD, token: apiToken }
  }
  const org = await addOrg()

  return {
    ...context,
    http,
    operations,
    edge,
    url,
    org,
    tokenUses,
    addOrg,
    async call(method, path, { body, as = org, headers = {} } = {}) {
      const { text, ...answer } = await requester.send(
        path.startsWith('/operator') || path.startsWith('/firmware') ? url + path : `${url}/api/v1${path}`,
        {
          method,
          headers: {
            ...(as && { authorization: `Token ${as.token}` }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body !== undefined && { body: bytesOrText(body) }),
        },
      )
      return { ...answer, body: parse(text) }
    },
    async close() {
      requester.close()
      await nameLateStop(ctx.log, 'http', http.close())
      await nameLateStop(ctx.log, 'token uses', tokenUses.stop())
      await nameLateStop(ctx.log, 'mailer', mailer.close())
      await nameLateStop(ctx.log, 'operator http', operatorHttp.close())
      await nameLateStop(ctx.log, 'outbound http', outbound.close())
      await context.close()
    },
  }
}

/** Sends texts and bytes unchanged, and everything else as JSON. */
function bytesOrText(body: unknown): string | Uint8Array {
  if (body instanceof Uint8Array) return body
  return typeof body === 'string' ? body : JSON.stringify(body)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
