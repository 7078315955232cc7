// The device CA gets another certificate before its first one ends. Devices know either of them meanwhile.
import { once } from 'node:events'
import { X509Certificate, createPrivateKey } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { type TLSSocket, connect, createServer } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { signingRequest } from '../../../src/agent/signing-request.ts'
import { createAgentSigner } from '../../../src/gateway/certificates/agent-signer.ts'
import {
  type DeviceCa,
  type KeyPairPem,
  issueDeviceCertificate,
  loadDeviceCa,
  makeCa,
} from '../../../src/gateway/certificates/device-ca.ts'
import { openGatewayTls } from '../../../src/gateway/certificates/gateway-tls.ts'
import { renewDeviceCa } from '../../../src/gateway/certificates/renew-device-ca.ts'
import { newKey } from '../../edge/world.ts'
import { issueCertificate } from '../../support/peers/client-certificates.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

const MAC = '02516e000001'
const hosts = ['localhost'] as const

function inYears(years: number): Date {
  const date = new Date()
  date.setUTCFullYear(date.getUTCFullYear() + years)
  return date
}

/** Starts a listener as the gateway has it, with its present certificates. */
async function listen(dataDir: string, now: Date): Promise<number> {
  const tls = await openGatewayTls({ dataDir, hosts, now })
  const server = createServer({ ...tls, requestCert: true, rejectUnauthorized: true }, (socket) =>
    socket.end(nameOf(socket)),
  )
  server.on('tlsClientError', () => {})
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

function nameOf(socket: TLSSocket): string {
  return String(socket.getPeerCertificate().subject.CN)
}

/** @returns The name by which the listener knows the device; empty if it refuses the device. */
async function nameAt(port: number, ca: DeviceCa, { certificatePem, keyPem }: KeyPairPem): Promise<string> {
  const trust = { ca: ca.certificatePem, cert: certificatePem, key: keyPem, servername: 'localhost' }
  const socket = connect({ host: '127.0.0.1', port, ...trust })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  return text(socket).catch(() => '')
}

test('the certificate of the CA is replaced in its last eleven years, for the same key', async () => {
  const dataDir = await temporaryDir()
  const former = await loadDeviceCa(dataDir)
  expect(await renewDeviceCa(dataDir, inYears(18))).toBe(false)
  const at = inYears(20)
  expect(await renewDeviceCa(dataDir, at)).toBe(true)
  const { certificatePem, keyPem } = await loadDeviceCa(dataDir)
  const certificate = new X509Certificate(certificatePem)
  const before = new X509Certificate(former.certificatePem)
  expect(certificate.checkPrivateKey(createPrivateKey(former.keyPem))).toBe(true)
  expect(keyPem).toBe(former.keyPem)
  expect([certificate.subject, certificate.ca]).toEqual([before.subject, true])
  expect(certificate.serialNumber).not.toBe(before.serialNumber)
  expect(certificate.validToDate.getUTCFullYear()).toBe(at.getUTCFullYear() + 30)
  expect(await renewDeviceCa(dataDir, at)).toBe(false)
})

test('devices and gateway trust each other, whichever certificate of the CA they know', async () => {
  const dataDir = await temporaryDir()
  const former = await loadDeviceCa(dataDir)
  const old = await issueDeviceCertificate(former, MAC)
  const before = await listen(dataDir, new Date())
  await renewDeviceCa(dataDir, inYears(20))
  const ca = await loadDeviceCa(dataDir)
  const next = await issueDeviceCertificate(ca, MAC)
  const after = await listen(dataDir, new Date())
  // The certificate of the gateway itself is still the same one.
  const reissued = await listen(dataDir, inYears(10))
  for (const port of [before, after, reissued]) {
    expect(await nameAt(port, former, old)).toBe(MAC)
    expect(await nameAt(port, ca, next)).toBe(MAC)
    expect(await nameAt(port, former, next)).toBe(MAC)
    expect(await nameAt(port, ca, old)).toBe(MAC)
  }
  const stranger = await makeCa()
  expect(await nameAt(after, ca, await issueDeviceCertificate(stranger, MAC))).toBe('')
})

test('a certificate of the renewed CA may outlast the former one', async () => {
  const dataDir = await temporaryDir()
  const former = await loadDeviceCa(dataDir)
  const at = inYears(25)
  await renewDeviceCa(dataDir, at)
  const { certificatePem } = await issueDeviceCertificate(await loadDeviceCa(dataDir), MAC, at)
  expect(new X509Certificate(certificatePem).validToDate.getTime()).toBeGreaterThan(
    former.certificate.notAfter.getTime(),
  )
})

test('agents get the new certificate of the CA with their next one', async () => {
  const dataDir = await temporaryDir()
  await loadDeviceCa(dataDir)
  await renewDeviceCa(dataDir, inYears(20))
  const request = await createAgentSigner(dataDir)(signingRequest(newKey()))
  const { certificate, ca } = await request.sign('edge-1', inYears(20))
  expect(ca).toBe((await loadDeviceCa(dataDir)).certificatePem)
  expect(new X509Certificate(certificate).checkIssued(new X509Certificate(ca))).toBe(true)
})

test('a CA that another one has signed is left to the operator', async () => {
  const dataDir = await temporaryDir()
  await loadDeviceCa(dataDir)
  const own = await issueCertificate(await makeCa(), 'CN=Devices of Example', true)
  await writeFile(join(dataDir, 'device-ca/ca.pem'), own.certificatePem)
  await writeFile(join(dataDir, 'device-ca/ca.key'), own.keyPem)
  expect(await renewDeviceCa(dataDir, new Date())).toBe(false)
  expect((await loadDeviceCa(dataDir)).certificatePem).toBe(own.certificatePem)
})
