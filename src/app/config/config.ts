import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { AccountSettings } from '../../accounts/parts.ts'
import type { LogLevel } from '../../platform/log.ts'
import { servesLoopbackOnly } from '../../platform/outbound/loopback.ts'
import { accountEnvironment, isProviderSetting, parseAccountSettings } from './config-accounts.ts'
import { type ConnectionSettings, connectionEnvironment, parseConnectionSettings } from './config-connections.ts'
import { limitEnvironment, parseLimits } from './config-limits.ts'
import { invalid, parseCidrs, splitList } from './config-values.ts'
import { parseWebhookLimits, webhookEnvironment } from './config-webhooks.ts'
import { type StorageSettings, parseStorageSettings, storageEnvironment } from './config-storage.ts'
import type { Limits } from '../../platform/limits.ts'
import type { WebhookLimits } from '../../webhooks/limits/limits.ts'
import type { Retention } from '../retention.ts'
import { messageOf } from '../../platform/message-of.ts'

const text = (description: string) => Type.Optional(Type.String({ description }))
const integer = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum, description }))

const MAX_PORT = 65_535

/** Every setting. `npm start -- --help` prints the descriptions. */
const Environment = Type.Object({
  SIGNALBOX_DATA_DIR: text('folder of everything the service keeps; default ./data'),
  SIGNALBOX_DATABASE_URL: text('a PostgreSQL (15 or newer) of your own instead of the embedded one'),
  SIGNALBOX_HOST: text('address to listen on; default 127.0.0.1'),
  SIGNALBOX_PORT: integer(0, MAX_PORT, 'HTTP port; default 8080, 0 takes a free one'),
  SIGNALBOX_UCENTRAL_PORT: integer(0, MAX_PORT, 'port for uCentral devices; default 15002, 0 takes a free one'),
  SIGNALBOX_EDGE_PORT: integer(0, MAX_PORT, 'port for agents of edge appliances; default 15003, 0 takes a free one'),
  SIGNALBOX_BASE_URL: text('where clients and devices reach the HTTP server; default from host and port'),
  SIGNALBOX_TLS_CERT: text('PEM file: serve https with this certificate chain (needs SIGNALBOX_TLS_KEY)'),
  SIGNALBOX_TLS_KEY: text('PEM file: the key of SIGNALBOX_TLS_CERT'),
  SIGNALBOX_TLS: Type.Optional(
    Type.Enum(['off', 'self-signed'], {
      description: 'self-signed: serve https with a self-made certificate for localhost',
    }),
  ),
  SIGNALBOX_TLS_NAMES: text('further names of the self-signed certificate, separated by commas'),
  SIGNALBOX_UCENTRAL_HOST: text('name or address by which devices reach the gateway; default from SIGNALBOX_BASE_URL'),
  SIGNALBOX_UCENTRAL_CA: text('PEM file: the CA of your devices instead of the built-in one'),
  SIGNALBOX_UCENTRAL_CERT: text('PEM file: the gateway certificate (needs SIGNALBOX_UCENTRAL_CA and _KEY)'),
  SIGNALBOX_UCENTRAL_KEY: text('PEM file: the key of SIGNALBOX_UCENTRAL_CERT'),
  SIGNALBOX_NETCONF_PORT: integer(
    0,
    MAX_PORT,
    "port for Junos devices that call home, such as 4334; unset: they can't; 0 takes a free one",
  ),
  SIGNALBOX_NETCONF_HOST: text('name or address by which Junos devices call home; default as SIGNALBOX_UCENTRAL_HOST'),
  SIGNALBOX_LOG_LEVEL: Type.Optional(
    Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], { description: 'default info' }),
  ),
  ...storageEnvironment,
  SIGNALBOX_ROLLOUT_SOAK_S: integer(0, 86_400, 'seconds a device must stay up on its new version; default 120'),
  SIGNALBOX_DEMO_TIME_PERCENT: integer(
    1,
    100,
    'how long devices of the demo take to boot and to install, in percent of real ones; default 10',
  ),
  SIGNALBOX_AUDIT_RETENTION_DAYS: integer(1, 36_500, 'days that audit logs are kept; default 365'),
  SIGNALBOX_EVENT_RETENTION_DAYS: integer(
    1,
    36_500,
    'days that events of devices and edge appliances are kept; default 90',
  ),
  SIGNALBOX_COMMAND_RETENTION_DAYS: integer(
    1,
    36_500,
    'days that commands to devices and edge appliances are kept once they have ended; default 30',
  ),
  SIGNALBOX_UPGRADE_RETENTION_DAYS: integer(1, 36_500, 'days that upgrades are kept once they have ended; default 400'),
  ...accountEnvironment,
  ...connectionEnvironment,
  ...limitEnvironment,
  ...webhookEnvironment,
  SIGNALBOX_WEBHOOK_ALLOW_CIDRS: text('private ranges that webhooks may call, separated by commas'),
  SIGNALBOX_EGRESS_PROXY: text('http:// or https:// address of a proxy for calls to addresses that users choose'),
})

export interface Config {
  readonly dataDir: string
  readonly databaseUrl: string | null
  readonly host: string
  readonly port: number
  readonly ucentralPort: number
  readonly edgePort: number
  /** Without a trailing slash; null = derived from host and port once they are known. */
  readonly baseUrl: string | null
  /** PEM texts. */
  readonly tls: 'off' | 'self-signed' | { readonly cert: string; readonly key: string }
  /** Further names that the self-signed certificate contains. */
  readonly tlsNames: readonly string[]
  /** The host by which devices reach the gateway; null = the HTTP server's. */
  readonly ucentralHost: string | null
  /** The operator's own device PKI, PEM texts; null = the built-in CA. */
  readonly ucentralTls: { readonly ca: string; readonly cert: string; readonly key: string } | null
  /** Null: Junos devices can't call home. */
  readonly netconfPort: number | null
  /** The host by which Junos devices call home; null = that of the gateway. */
  readonly netconfHost: string | null
  readonly logLevel: LogLevel
  readonly storage: StorageSettings
  readonly rolloutSoakMs: number
  readonly demoTimePercent: number
  readonly retention: Retention
  readonly limits: Limits
  readonly webhookAllowCidrs: readonly string[]
  readonly webhookLimits: WebhookLimits
  /** May contain credentials; null = no proxy. */
  readonly egressProxy: string | null
  readonly connections: ConnectionSettings
  readonly accounts: AccountSettings
  readonly smtpUrl: string | null
  readonly mailFrom: string
}

/**
 * Parses the settings. Unknown SIGNALBOX_ names are refused: a misspelled setting is worse than none.
 * @throws AppError invalid, one line that names the setting.
 */
export function parseConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const env = checkEnvironment(environment)
  const host = env.SIGNALBOX_HOST ?? '127.0.0.1'
  const baseUrl = parseUrl('SIGNALBOX_BASE_URL', env.SIGNALBOX_BASE_URL, ['http:', 'https:'])
  if (isIP(host) === 0 && host !== 'localhost') throw invalid('SIGNALBOX_HOST', 'must be an IP address or localhost')
  return Object.freeze({
    dataDir: resolve(env.SIGNALBOX_DATA_DIR ?? 'data'),
    databaseUrl: parseUrl('SIGNALBOX_DATABASE_URL', env.SIGNALBOX_DATABASE_URL, ['postgres:', 'postgresql:']),
    host,
    port: env.SIGNALBOX_PORT ?? 8080,
    ucentralPort: env.SIGNALBOX_UCENTRAL_PORT ?? 15_002,
    edgePort: env.SIGNALBOX_EDGE_PORT ?? 15_003,
    baseUrl,
    tls: parseTls(env),
    tlsNames: parseTlsNames(env),
    ucentralHost: parseUcentralHost(env),
    ucentralTls: parseUcentralTls(env),
    netconfPort: env.SIGNALBOX_NETCONF_PORT ?? null,
    netconfHost: parseHost('SIGNALBOX_NETCONF_HOST', env.SIGNALBOX_NETCONF_HOST),
    logLevel: env.SIGNALBOX_LOG_LEVEL ?? 'info',
    storage: parseStorageSettings(env),
    rolloutSoakMs: (env.SIGNALBOX_ROLLOUT_SOAK_S ?? 120) * 1000,
    demoTimePercent: env.SIGNALBOX_DEMO_TIME_PERCENT ?? 10,
    retention: {
      auditDays: env.SIGNALBOX_AUDIT_RETENTION_DAYS ?? 365,
      eventDays: env.SIGNALBOX_EVENT_RETENTION_DAYS ?? 90,
      commandDays: env.SIGNALBOX_COMMAND_RETENTION_DAYS ?? 30,
      upgradeDays: env.SIGNALBOX_UPGRADE_RETENTION_DAYS ?? 400,
    },
    limits: parseLimits(env),
    webhookAllowCidrs: parseCidrs('SIGNALBOX_WEBHOOK_ALLOW_CIDRS', env.SIGNALBOX_WEBHOOK_ALLOW_CIDRS),
    webhookLimits: parseWebhookLimits(env),
    egressProxy: parseUrl('SIGNALBOX_EGRESS_PROXY', env.SIGNALBOX_EGRESS_PROXY, ['http:', 'https:']),
    connections: parseConnectionSettings(env),
    accounts: parseAccountSettings(env, environment, servesLoopbackOnly(host, baseUrl)),
    smtpUrl: parseUrl('SIGNALBOX_SMTP_URL', env.SIGNALBOX_SMTP_URL, ['smtp:', 'smtps:']),
    mailFrom: env.SIGNALBOX_MAIL_FROM ?? 'Signalbox <signalbox@localhost>',
  })
}

/** Returns a line for every setting: its name and its description. */
export function describeSettings(): string[] {
  const settings = Object.entries(Environment.properties)
  const width = Math.max(...settings.map(([name]) => name.length))
  return settings.map(([name, schema]) => {
    const description: unknown = Reflect.get(schema, 'description')
    return `${name.padEnd(width)}  ${typeof description === 'string' ? description : ''}`
  })
}

type Env = Type.Static<typeof Environment>

/** "from 1 to 9", for settings that are whole numbers. */
const ranges: ReadonlyMap<string, string> = new Map(
  Object.entries(Environment.properties).flatMap(([name, schema]) => {
    const least: unknown = Reflect.get(schema, 'minimum')
    const most: unknown = Reflect.get(schema, 'maximum')
    return typeof least === 'number' && typeof most === 'number' ? [[name, `from ${least} to ${most}`]] : []
  }),
)

/** The prefix of settings for tests and benchmarks, which the server does not read. */
const elsewhere = 'SIGNALBOX_TEST_'

/** Settings of the command line and of the agent, which may run in the same shell. */
const ofOtherPrograms: ReadonlySet<string> = new Set([
  'SIGNALBOX_URL',
  'SIGNALBOX_TOKEN',
  'SIGNALBOX_ORG',
  'SIGNALBOX_AGENT_CODE',
])

function checkEnvironment(environment: Readonly<Record<string, string | undefined>>): Env {
  const given: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith('SIGNALBOX_') || name.startsWith(elsewhere) || isProviderSetting(name)) continue
    if (ofOtherPrograms.has(name)) continue
    if (!(name in Environment.properties)) throw invalid(name, 'is not a setting of this release')
    if (value === undefined || value === '') continue
    // A value that is not a number is refused here, because conversion would round it.
    if (ranges.has(name) && !/^-?\d+$/.test(value)) throw invalid(name, `must be a whole number ${ranges.get(name)}`)
    given[name] = value
  }
  const env = Value.Convert(Environment, given)
  if (Value.Check(Environment, env)) return env
  const [error] = Value.Errors(Environment, env)
  const name = error?.instancePath.slice(1) ?? 'SIGNALBOX_'
  const allowed: unknown = error && Reflect.get(error.params, 'allowedValues')
  if (Array.isArray(allowed)) throw invalid(name, `must be one of ${allowed.join(', ')}`)
  const range = ranges.get(name)
  throw invalid(name, range === undefined ? (error?.message ?? 'is not valid') : `must be a whole number ${range}`)
}

function parseTls(env: Env): Config['tls'] {
  const { SIGNALBOX_TLS_CERT: cert, SIGNALBOX_TLS_KEY: key, SIGNALBOX_TLS: mode } = env
  if (cert === undefined && key === undefined) return mode ?? 'off'
  if (mode !== undefined) throw invalid('SIGNALBOX_TLS', 'goes without SIGNALBOX_TLS_CERT and SIGNALBOX_TLS_KEY')
  if (cert === undefined) throw invalid('SIGNALBOX_TLS_CERT', 'is needed with SIGNALBOX_TLS_KEY')
  if (key === undefined) throw invalid('SIGNALBOX_TLS_KEY', 'is needed with SIGNALBOX_TLS_CERT')
  const pair = { cert: readPem('SIGNALBOX_TLS_CERT', cert), key: readPem('SIGNALBOX_TLS_KEY', key) }
  return checkTls('SIGNALBOX_TLS_CERT and SIGNALBOX_TLS_KEY', pair)
}

const hostName = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i
const MAX_HOST_NAME = 253

function parseTlsNames({ SIGNALBOX_TLS_NAMES: names, SIGNALBOX_TLS: mode }: Env): string[] {
  if (names !== undefined && mode !== 'self-signed')
    throw invalid('SIGNALBOX_TLS_NAMES', 'needs SIGNALBOX_TLS=self-signed')
  const parsed = splitList(names)
  const odd = parsed.find((name) => !isHost(name))
  if (odd !== undefined)
    throw invalid('SIGNALBOX_TLS_NAMES', `${odd} is not a host name or an IP address, without a port`)
  return parsed
}

function isHost(text: string): boolean {
  return isIP(text) !== 0 || (hostName.test(text) && text.length <= MAX_HOST_NAME)
}

function parseHost(name: string, host: string | undefined): string | null {
  if (host === undefined) return null
  if (isHost(host)) return host
  throw invalid(name, 'must be a host name or an IP address, without a port')
}

function parseUcentralHost(env: Env): string | null {
  const host = parseHost('SIGNALBOX_UCENTRAL_HOST', env.SIGNALBOX_UCENTRAL_HOST)
  if (host === null) return null
  if (env.SIGNALBOX_UCENTRAL_CERT !== undefined)
    throw invalid('SIGNALBOX_UCENTRAL_HOST', 'goes without SIGNALBOX_UCENTRAL_CERT, which says the name itself')
  return host
}

function parseUcentralTls(env: Env): Config['ucentralTls'] {
  const files = {
    SIGNALBOX_UCENTRAL_CA: env.SIGNALBOX_UCENTRAL_CA,
    SIGNALBOX_UCENTRAL_CERT: env.SIGNALBOX_UCENTRAL_CERT,
    SIGNALBOX_UCENTRAL_KEY: env.SIGNALBOX_UCENTRAL_KEY,
  }
  if (Object.values(files).every((file) => file === undefined)) return null
  const [ca, cert, key] = Object.entries(files).map(([name, file]) => {
    if (file === undefined) throw invalid(name, 'is needed with the other two SIGNALBOX_UCENTRAL_ files')
    return readPem(name, file)
  })
  const material = { ca: ca ?? '', cert: cert ?? '', key: key ?? '' }
  return checkTls('SIGNALBOX_UCENTRAL_CA, _CERT and _KEY', material)
}

/** Loads the files once as the listeners will, to report which of them are invalid. */
function checkTls<T extends { readonly cert: string; readonly key: string }>(names: string, material: T): T {
  try {
    createSecureContext(material)
    return material
  } catch (error) {
    throw invalid(names, `don't go together: ${messageOf(error)}`)
  }
}

function readPem(name: string, path: string): string {
  let pem: string
  try {
    pem = readFileSync(path, 'utf8')
  } catch (error) {
    throw invalid(name, `can't be read: ${messageOf(error)}`)
  }
  if (!pem.includes('-----BEGIN ')) throw invalid(name, `${path} is not a PEM file`)
  return pem
}

function parseUrl(name: string, value: string | undefined, protocols: readonly string[]): string | null {
  if (value === undefined) return null
  const url = URL.canParse(value) ? new URL(value) : null
  if (url === null || !protocols.includes(url.protocol))
    throw invalid(name, `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`)
  return value.replace(/\/+$/, '')
}
