import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { issueDeviceCertificate, issueGatewayTls, loadDeviceCa } from './device-ca.ts'

test('is created once, with a private key file', async () => {
  const dir = await temporaryDir()
  const first = await loadDeviceCa(dir)
  const second = await loadDeviceCa(dir)
  expect(second.certificatePem).toBe(first.certificatePem)
  expect((await stat(join(dir, 'device-ca/ca.key'))).mode & 0o777).toBe(0o600)
  expect(await readFile(join(dir, 'device-ca/ca.pem'), 'utf8')).toBe(first.certificatePem)
})

test('is not replaced when its key is missing', async () => {
  const dir = await temporaryDir()
  await loadDeviceCa(dir)
  await rm(join(dir, 'device-ca/ca.key'))
  await expect(loadDeviceCa(dir)).rejects.toMatchObject({ code: 'unavailable' })
})

test('is created again when a start died before its certificate was written', async () => {
  const dir = await temporaryDir()
  await loadDeviceCa(dir)
  await rm(join(dir, 'device-ca/ca.pem'))
  const again = await loadDeviceCa(dir)
  expect(new X509Certificate(again.certificatePem).checkPrivateKey(createPrivateKey(again.keyPem))).toBe(true)
})

test('issues certificates that prove the identity of a device and of a gateway', async () => {
  const ca = await loadDeviceCa(await temporaryDir())
  const issuer = new X509Certificate(ca.certificatePem)
  const device = await issueDeviceCertificate(ca, '02aabbccddee')
  const leaf = new X509Certificate(device.certificatePem)
  expect(leaf.subject).toBe('O=TIP\nCN=02aabbccddee')
  expect(leaf.verify(issuer.publicKey)).toBe(true)
  expect(leaf.ca).toBe(false)
  expect(leaf.checkPrivateKey(createPrivateKey(device.keyPem))).toBe(true)
  const tls = await issueGatewayTls(ca, ['gateway.example', '192.0.2.1'])
  const server = new X509Certificate(tls.cert)
  expect(server.subject).toBe('CN=gateway.example')
  expect(server.checkHost('gateway.example', { subject: 'never' })).toBe('gateway.example')
  expect(server.checkIP('192.0.2.1')).toBe('192.0.2.1')
  // A device whose clock starts at its build date must still accept the certificates.
  expect(Date.parse(leaf.validFrom)).toBeLessThan(Date.parse('2021-01-01'))
})

test('issues certificates of ten years, and none that outlasts the CA', async () => {
  const ca = await loadDeviceCa(await temporaryDir())
  const caEnd = new X509Certificate(ca.certificatePem).validToDate
  const yearsBeforeEnd = (years: number): Date => {
    const at = new Date(caEnd)
    at.setUTCFullYear(at.getUTCFullYear() - years)
    return at
  }
  const endOf = async (at: Date) => {
    const { certificatePem } = await issueDeviceCertificate(ca, '02aabbccddee', at)
    return new X509Certificate(certificatePem).validToDate
  }
  expect(await endOf(yearsBeforeEnd(15))).toEqual(yearsBeforeEnd(5))
  expect(await endOf(yearsBeforeEnd(10))).toEqual(caEnd)
  expect(await endOf(yearsBeforeEnd(1))).toEqual(caEnd)
})
