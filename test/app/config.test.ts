import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, test } from 'vitest'
import { parseConfig, describeSettings } from '../../src/app/config/config.ts'
import { issueGatewayTls, loadDeviceCa } from '../../src/gateway/certificates/device-ca.ts'
import { AppError } from '../../src/platform/errors.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const run = promisify(execFile)

const GIB = 1024 ** 3

describe('settings', () => {
  it('have the documented defaults', () => {
    expect(parseConfig({})).toMatchObject({
      dataDir: resolve('data'),
      databaseUrl: null,
      host: '127.0.0.1',
      port: 8080,
      ucentralPort: 15_002,
      edgePort: 15_003,
      baseUrl: null,
      tls: 'off',
      ucentralHost: null,
      ucentralTls: null,
      netconfPort: null,
      netconfHost: null,
      logLevel: 'info',
      storage: {
        firmwareMaxBytes: 2 * GIB,
        firmwareTrust: { keys: [], isRequired: false },
        firmware: { orgMaxBytes: 100 * GIB, totalMaxBytes: 500 * GIB },
        pictures: { orgMaxBytes: 50 * GIB, totalMaxBytes: 200 * GIB },
        diskReserveBytes: 2 * GIB,
      },
      rolloutSoakMs: 120_000,
      demoTimePercent: 10,
      retention: { auditDays: 365, eventDays: 90, commandDays: 30, upgradeDays: 400 },
      limits: {
        orgsPerAccount: 100,
        sitesPerOrg: 10_000,
        mapsPerOrg: 25_000,
        mapsPerSite: 250,
        tokensPerAccount: 100,
        tokensPerOrg: 100,
        sessionsPerAccount: 100,
      },
      webhookAllowCidrs: [],
      egressProxy: null,
    })
  })

  it('are read from the environment; an empty variable counts as unset', () => {
    const environment = {
      SIGNALBOX_HOST: '::1',
      SIGNALBOX_PORT: '0',
      SIGNALBOX_UCENTRAL_PORT: '',
      SIGNALBOX_BASE_URL: 'https://signalbox.example.net/',
      SIGNALBOX_UCENTRAL_HOST: 'gateway.example.net',
      SIGNALBOX_ROLLOUT_SOAK_S: '7',
      SIGNALBOX_DEMO_TIME_PERCENT: '3',
      SIGNALBOX_EVENT_RETENTION_DAYS: '14',
      SIGNALBOX_EGRESS_PROXY: 'http://user:pass@proxy.example.com:3128',
      SIGNALBOX_WEBHOOK_ALLOW_CIDRS: '10.0.0.0/8, fd00::/8',
      UNRELATED: 'x',
    }
    expect(parseConfig(environment)).toMatchObject({
      host: '::1',
      retention: { auditDays: 365, eventDays: 14, commandDays: 30, upgradeDays: 400 },
      port: 0,
      ucentralPort: 15_002,
      edgePort: 15_003,
      baseUrl: 'https://signalbox.example.net',
      ucentralHost: 'gateway.example.net',
      rolloutSoakMs: 7000,
      demoTimePercent: 3,
      webhookAllowCidrs: ['10.0.0.0/8', 'fd00::/8'],
      egressProxy: 'http://user:pass@proxy.example.com:3128',
    })
  })

  it('allow redirects of browsers to loopback only if no other machine reaches the server', () => {
    const trusts = (host: string, baseUrl: string) =>
      parseConfig({ SIGNALBOX_HOST: host, SIGNALBOX_BASE_URL: baseUrl }).accounts.trustLoopback
    expect(trusts('', '')).toBe(true)
    expect(trusts('127.0.0.1', 'http://localhost:8080')).toBe(true)
    expect(trusts('127.0.0.1', 'https://signalbox.example.net')).toBe(false)
    expect(trusts('0.0.0.0', '')).toBe(false)
  })

  test.for([
    ['SIGNALBOX_PORT', 'abc', 'must be a whole number from 0 to 65535'],
    ['SIGNALBOX_PORT', '1.5', 'must be a whole number from 0 to 65535'],
    ['SIGNALBOX_PORT', 'true', 'must be a whole number from 0 to 65535'],
    ['SIGNALBOX_PORT', '0x50', 'must be a whole number from 0 to 65535'],
    ['SIGNALBOX_PORT', '65536', 'must be a whole number from 0 to 65535'],
    ['SIGNALBOX_UCENTRAL_PORT', '-1', 'must be a whole number from 0 to 65535'],
    ['SIGNALBOX_HOST', 'example.net', 'must be an IP address or localhost'],
    ['SIGNALBOX_UCENTRAL_HOST', 'a.example:15002', 'must be a host name or an IP address, without a port'],
    ['SIGNALBOX_UCENTRAL_HOST', 'a..b', 'must be a host name or an IP address, without a port'],
    ['SIGNALBOX_BASE_URL', 'ftp://example.net', 'must be a URL that starts with http:// or https://'],
    ['SIGNALBOX_DATABASE_URL', 'mysql://db', 'must be a URL that starts with postgres:// or postgresql://'],
    ['SIGNALBOX_FIRMWARE_SIGNATURES', 'required', 'is required, which needs SIGNALBOX_FIRMWARE_KEYS'],
    ['SIGNALBOX_S3_REGION', 'eu-west-1', 'needs SIGNALBOX_S3_BUCKET'],
    [
      'SIGNALBOX_S3_BUCKET',
      'a/b',
      'a/b is not the name of a bucket, which has 3 to 63 letters, digits, dots, dashes and underscores',
    ],
    ['SIGNALBOX_LOG_LEVEL', 'loud', 'must be one of trace, debug, info, warn, error, fatal, silent'],
    ['SIGNALBOX_TLS', 'on', 'must be one of off, self-signed'],
    ['SIGNALBOX_TLS_NAMES', 'api.example.net', 'needs SIGNALBOX_TLS=self-signed'],
    ['SIGNALBOX_WEBHOOK_ALLOW_CIDRS', '10.0.0.0/33', '10.0.0.0/33 is not an address range like 10.0.0.0/8'],
    ['SIGNALBOX_SSO_DOMAINS', 'example.com', 'example.com is not of the form example.com=SSO_ID'],
    ['SIGNALBOX_SSO_DOMAINS', 'a.b=7', 'a.b=7 is not of the form example.com=SSO_ID'],
    ['SIGNALBOX_PROT', '80', 'is not a setting of this release'],
  ] as const)('refuses %s=%s with one line', ([name, value, why]) => {
    expect(() => parseConfig({ [name]: value })).toThrow(new AppError('invalid', `${name} ${why}`))
  })
})

it('takes no notice of the settings of other programs in the same shell', () => {
  const others = { SIGNALBOX_URL: 'http://127.0.0.1:8080', SIGNALBOX_TOKEN: 't', SIGNALBOX_ORG: 'My network' }
  expect(parseConfig({ ...others, SIGNALBOX_AGENT_CODE: 'magic' })).toEqual(parseConfig({}))
})

it('describes each setting in a line, beside its name', () => {
  for (const line of describeSettings()) expect(line).toMatch(/^SIGNALBOX_[A-Z0-9_]+ {2,}[a-zA-Z]/)
})

describe('further names of the self-signed certificate', () => {
  const namesOf = (names: string) => parseConfig({ SIGNALBOX_TLS: 'self-signed', SIGNALBOX_TLS_NAMES: names }).tlsNames

  it('are separated by commas', () => {
    expect(namesOf('api.example.net, 10.0.0.5,')).toEqual(['api.example.net', '10.0.0.5'])
    expect(parseConfig({ SIGNALBOX_TLS: 'self-signed' }).tlsNames).toEqual([])
  })

  it.each(['*.example.net', 'https://a.example', 'a.example:443', 'a..b'])('are no %s', (name) => {
    expect(() => namesOf(`a.example,${name}`)).toThrow(
      `SIGNALBOX_TLS_NAMES ${name} is not a host name or an IP address, without a port`,
    )
  })
})

describe('keys that sign firmware', () => {
  const pemOf = (type: 'ed25519' | 'x25519') => {
    const { publicKey } = type === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('x25519')
    return publicKey.export({ type: 'spki', format: 'pem' }).toString()
  }

  it('are read from several files, each of which may have several', async () => {
    const folder = await temporaryDir()
    const [one, two, other] = ['one.pem', 'two.pem', 'other.pem'].map((name) => join(folder, name))
    await writeFile(one ?? '', pemOf('ed25519') + pemOf('ed25519'))
    await writeFile(two ?? '', pemOf('ed25519'))
    await writeFile(other ?? '', pemOf('ed25519') + pemOf('x25519'))
    const trustIn = (files: string) =>
      parseConfig({ SIGNALBOX_FIRMWARE_KEYS: files, SIGNALBOX_FIRMWARE_SIGNATURES: 'required' }).storage.firmwareTrust
    expect(trustIn(`${one}, ${two}`)).toMatchObject({ isRequired: true, keys: { length: 3 } })
    expect(() => trustIn(`${one},${other}`)).toThrow(
      `SIGNALBOX_FIRMWARE_KEYS ${other} has something else than Ed25519 public keys in PEM`,
    )
    expect(() => trustIn(join(folder, 'missing.pem'))).toThrow("SIGNALBOX_FIRMWARE_KEYS can't be read: ENOENT")
  })
})

describe('certificate files', () => {
  async function writeFiles(): Promise<{ cert: string; key: string; otherKey: string }> {
    const folder = await temporaryDir()
    const { cert, key } = await issueGatewayTls(await loadDeviceCa(folder), ['localhost'])
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const files = { cert, key, otherKey: other.export({ type: 'pkcs8', format: 'pem' }).toString() }
    for (const [name, pem] of Object.entries(files)) await writeFile(join(folder, name), pem)
    return { cert: join(folder, 'cert'), key: join(folder, 'key'), otherKey: join(folder, 'otherKey') }
  }

  it('come in pairs', () => {
    expect(() => parseConfig({ SIGNALBOX_TLS_CERT: '/nowhere' })).toThrow(/^SIGNALBOX_TLS_KEY is needed with/)
    expect(() => parseConfig({ SIGNALBOX_UCENTRAL_CA: '/nowhere' })).toThrow(/^SIGNALBOX_UCENTRAL_CA can't be read/)
  })

  it('are read', async () => {
    const { cert, key } = await writeFiles()
    const { tls } = parseConfig({ SIGNALBOX_TLS_CERT: cert, SIGNALBOX_TLS_KEY: key })
    expect(tls).toEqual({
      cert: expect.stringContaining('BEGIN CERTIFICATE'),
      key: expect.stringContaining('PRIVATE KEY'),
    })
  })

  it('refuse a certificate and a key that do not match, with one line', async () => {
    const { cert, otherKey } = await writeFiles()
    const env = { PATH: process.env['PATH'], SIGNALBOX_TLS_CERT: cert, SIGNALBOX_TLS_KEY: otherKey }
    const program = await builtProgram('server')
    const ended: { code?: number; stdout?: string; stderr?: string } = await run(process.execPath, [program], {
      env,
      cwd: await temporaryDir(),
    }).catch((error: unknown) => Object(error))
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(/^signalbox: SIGNALBOX_TLS_CERT and SIGNALBOX_TLS_KEY don't go together: [^\n]*\n$/)
  })

  it("name the gateway's own setting in the error", async () => {
    const { cert, key } = await writeFiles()
    const own = { SIGNALBOX_UCENTRAL_CA: cert, SIGNALBOX_UCENTRAL_CERT: cert, SIGNALBOX_UCENTRAL_KEY: key }
    expect(() => parseConfig({ ...own, SIGNALBOX_UCENTRAL_HOST: 'a.example' })).toThrow(
      'SIGNALBOX_UCENTRAL_HOST goes without SIGNALBOX_UCENTRAL_CERT',
    )
  })

  it('refuse a certificate and a key of the gateway that do not match', async () => {
    const { cert, otherKey } = await writeFiles()
    const environment = {
      SIGNALBOX_UCENTRAL_CA: cert,
      SIGNALBOX_UCENTRAL_CERT: cert,
      SIGNALBOX_UCENTRAL_KEY: otherKey,
    }
    expect(() => parseConfig(environment)).toThrow("SIGNALBOX_UCENTRAL_CA, _CERT and _KEY don't go together")
  })
})
