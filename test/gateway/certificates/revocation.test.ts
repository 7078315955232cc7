import { X509Certificate } from 'node:crypto'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { plainSerial } from '../../../src/devices/certificates/certificate.ts'
import { recordIssuedCertificate, revokeCertificates } from '../../../src/devices/certificates/revoke-certificates.ts'
import { listRevokedCertificates } from '../../../src/devices/certificates/store.ts'
import { type KeyPairPem, issueDeviceCertificate } from '../../../src/gateway/certificates/device-ca.ts'
import { type GatewayHarness, type RunningGateway, createGatewayHarness, newMac, openDevice } from '../harness.ts'

let harness: GatewayHarness
let gateway: RunningGateway
beforeAll(async () => {
  harness = await createGatewayHarness()
})
beforeEach(async () => {
  gateway = await harness.start()
})

const serialOf = ({ certificatePem }: KeyPairPem): string =>
  plainSerial(new X509Certificate(certificatePem).serialNumber)

async function connect(mac: string, identity: KeyPairPem) {
  const device = await openDevice(gateway.port, harness.ca, { mac, identity })
  device.hello()
  return device
}

/** A claimed device that is connected, with its certificate. */
async function start() {
  const mac = newMac()
  await harness.claim(mac)
  const identity = await issueDeviceCertificate(harness.ca, mac)
  await recordIssuedCertificate(harness.ctx, { mac, serial: serialOf(identity) })
  const device = await connect(mac, identity)
  await harness.untilConnected(mac, true)
  return { mac, identity, device }
}

test.each(['one certificate', 'all certificates'])('revoking %s of a device disconnects it', async (which) => {
  const { mac, identity, device } = await start()
  const other = await start()
  harness.advance(1000)
  const serial = which === 'one certificate' ? serialOf(identity) : ''
  await revokeCertificates(harness.ctx, { mac, serial })
  expect(await device.closed).toBe(1008)
  await harness.untilConnected(mac, false)
  expect(await (await connect(mac, identity)).closed).toBe(1008)
  expect(await harness.status(mac)).toMatchObject({ connected: false })
  const { rows } = await listRevokedCertificates(harness.ctx.db, { page: 1, limit: 100 })
  expect(rows).toContainEqual(expect.objectContaining({ mac, serial, revokedAt: expect.any(Date) }))
  expect(other.device.socket.readyState).toBe(other.device.socket.OPEN)

  // A certificate that was issued afterwards is another one.
  harness.advance(1000)
  const renewed = await issueDeviceCertificate(harness.ca, mac)
  await recordIssuedCertificate(harness.ctx, { mac, serial: serialOf(renewed) })
  await connect(mac, renewed)
  await harness.untilConnected(mac, true)
})

test('the certificate of another device has no effect on it', async () => {
  const { mac, device } = await start()
  const foreign = serialOf(await issueDeviceCertificate(harness.ca, newMac()))
  await revokeCertificates(harness.ctx, { mac, serial: foreign })
  await revokeCertificates(harness.ctx, { mac: newMac(), serial: '' })
  const last = await start()
  await revokeCertificates(harness.ctx, { mac: last.mac, serial: '' })
  await last.device.closed
  expect(device.socket.readyState).toBe(device.socket.OPEN)
  expect(await harness.status(mac)).toMatchObject({ connected: true })
})
