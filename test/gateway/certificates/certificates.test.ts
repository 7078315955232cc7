import { randomUUID } from 'node:crypto'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  type DeviceCa,
  type KeyPairPem,
  issueDeviceCertificate,
  loadDeviceCa,
} from '../../../src/gateway/certificates/device-ca.ts'
import { type GatewayTlsOptions, openGatewayTls } from '../../../src/gateway/certificates/gateway-tls.ts'
import { createProtocols } from '../../../src/gateway/protocols.ts'
import { type Gateway, startGateway } from '../../../src/gateway/start-gateway.ts'
import {
  accessPointTrusts,
  issueCertificate,
  shakeHands,
  switchSerial,
} from '../../support/peers/client-certificates.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type GatewayHarness, createGatewayHarness, newMac, openDevice } from '../harness.ts'

const NAME = 'signalbox.example.net'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

interface Installation {
  readonly dataDir: string
  readonly ca: DeviceCa
  readonly gateway: Gateway
}

/** Starts a gateway with the certificate from its data folder for these names; devices use the first name. */
async function install(hosts: GatewayTlsOptions['hosts'], dataDir?: string): Promise<Installation> {
  const folder = dataDir ?? (await temporaryDir())
  const tls = await openGatewayTls({ dataDir: folder, hosts, now: new Date() })
  const gateway = await startGateway(harness.ctx, {
    protocols: createProtocols({
      ucentral: { host: '127.0.0.1', port: 0, tls },
      edge: { host: '127.0.0.1', port: 0, tls, dataDir: folder },
    }),
    nodeId: randomUUID(),
  })
  onTestFinished(() => gateway.stop())
  return { dataDir: folder, ca: await loadDeviceCa(folder), gateway }
}

function filesOf({ ca, gateway }: Installation, { certificatePem, keyPem }: KeyPairPem) {
  return { port: gateway.portOf('ucentral'), ca: ca.certificatePem, cert: certificatePem, key: keyPem }
}

test('the client of switches reads its whole MAC from the certificate', async () => {
  const installation = await install([NAME])
  const mac = newMac()
  expect(switchSerial((await issueDeviceCertificate(installation.ca, mac)).certificatePem)).toBe(mac)
})

test.each([NAME, '192.0.2.7', '2001:db8::7'])(
  'the client of access points finds the gateway under %s',
  async (name) => {
    const installation = await install([name, 'localhost', '127.0.0.1'])
    const device = await issueDeviceCertificate(installation.ca, newMac())
    const certificate = await shakeHands(filesOf(installation, device))
    expect(certificate.subject.CN).toBe(name)
    expect(accessPointTrusts(certificate, name)).toBe(true)
    expect(accessPointTrusts(certificate, 'other.example.net')).toBe(false)
  },
)

test('a gateway with a new name gets a new certificate, and earlier devices can still connect', async () => {
  const before = await install(['localhost', NAME])
  const device = await issueDeviceCertificate(before.ca, newMac())
  expect((await shakeHands(filesOf(before, device))).subject.CN).toBe('localhost')
  const after = await install([NAME, 'localhost'], before.dataDir)
  expect(after.ca.certificatePem).toBe(before.ca.certificatePem)
  expect((await shakeHands(filesOf(after, device))).subject.CN).toBe(NAME)
})

test('accepts a certificate whose subject is the MAC alone, as earlier versions issued it', async () => {
  const { ca, gateway } = await install([NAME, '127.0.0.1'])
  const mac = newMac()
  await harness.claim(mac)
  const device = await openDevice(gateway.portOf('ucentral'), ca, {
    mac,
    identity: await issueCertificate(ca, `CN=${mac}`),
  })
  device.hello()
  await waitUntil('connected', async () => (await harness.status(mac)).connected)
})
