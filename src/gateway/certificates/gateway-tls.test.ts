import { X509Certificate } from 'node:crypto'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { beforeEach, expect, test } from 'vitest'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { type GatewayTlsOptions, openGatewayTls } from './gateway-tls.ts'

type Hosts = GatewayTlsOptions['hosts']

let dataDir = ''
beforeEach(async () => void (dataDir = await temporaryDir()))

const now = new Date()
const hosts: Hosts = ['localhost', '127.0.0.1', '::1']
const serial = ({ cert }: { readonly cert: string }) => new X509Certificate(cert).serialNumber
const open = (changed: { hosts?: Hosts; now?: Date } = {}) => openGatewayTls({ dataDir, hosts, now, ...changed })
const file = (name: string) => join(dataDir, 'device-ca', name)

test('keeps the certificate that it has issued, in a private file, ready for a listener', async () => {
  const made = await open()
  const kept = await open()
  expect(serial(kept)).toBe(serial(made))
  expect(kept.ca).toBe(made.ca)
  expect((await stat(file('gateway.pem'))).mode & 0o777).toBe(0o600)
  createSecureContext(made)
  createSecureContext(kept)
})

test('issues another one for another host', async () => {
  const made = await open()
  const other = await open({ hosts: [...hosts, 'gateway.example.net', '192.0.2.1'] })
  expect(serial(other)).not.toBe(serial(made))
  const certificate = new X509Certificate(other.cert)
  expect(certificate.checkHost('gateway.example.net')).toBe('gateway.example.net')
  expect(certificate.checkIP('192.0.2.1')).toBe('192.0.2.1')
  expect(serial(await open())).toBe(serial(other))
})

test('issues another one when devices use another name, even if it is among the names', async () => {
  const made = await open()
  const other = await open({ hosts: ['127.0.0.1', 'localhost', '::1'] })
  expect(serial(other)).not.toBe(serial(made))
  expect(new X509Certificate(other.cert).subject).toBe('CN=127.0.0.1')
})

test('puts a name that is too long for a common name among the alternative names', async () => {
  const long = `${'a'.repeat(60)}.example.net`
  const made = await open({ hosts: [long, 'localhost'] })
  expect(new X509Certificate(made.cert).subject).toBe('CN=Signalbox gateway')
  expect(new X509Certificate(made.cert).checkHost(long)).toBe(long)
  expect(serial(await open({ hosts: [long, 'localhost'] }))).toBe(serial(made))
})

test('issues another one in the last year', async () => {
  const made = await open()
  const end = new X509Certificate(made.cert).validToDate.getTime()
  expect(serial(await open({ now: new Date(end - 366 * 24 * 3600e3) }))).toBe(serial(made))
  expect(serial(await open({ now: new Date(end - 364 * 24 * 3600e3) }))).not.toBe(serial(made))
})

test.each([
  ['is cut', (text: string) => text.slice(0, text.length / 2)],
  ['has no certificate', (text: string) => text.slice(0, text.indexOf('-----BEGIN CERT'))],
  ['is empty', () => ''],
])('issues another one when the file %s', async (_how, damage) => {
  const made = await open()
  await writeFile(file('gateway.pem'), damage(await readFile(file('gateway.pem'), 'utf8')))
  expect(serial(await open())).not.toBe(serial(made))
})

test('issues another one when the CA has changed', async () => {
  const made = await open()
  await Promise.all([rm(file('ca.pem')), rm(file('ca.key'))])
  const other = await open()
  expect(other.ca).not.toBe(made.ca)
  expect(new X509Certificate(other.cert).verify(new X509Certificate(other.ca).publicKey)).toBe(true)
})

test('refuses a CA without its key, even if the certificate is still valid', async () => {
  await open()
  await rm(file('ca.key'))
  await expect(open()).rejects.toMatchObject({ code: 'unavailable' })
})
