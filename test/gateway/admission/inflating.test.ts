// The effect on the clients of the API of a device that sends 57 frames of 8 KB a second, each of which inflates to 2
// MB.
import { createHash, randomUUID } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type DeviceCa, issueGatewayTls, makeCa } from '../../../src/gateway/certificates/device-ca.ts'
import { createProtocols } from '../../../src/gateway/protocols.ts'
import { startGateway } from '../../../src/gateway/start-gateway.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { claimDevice, newMac, openDevice } from '../harness.ts'

let server: TestServer
let ca: DeviceCa
beforeAll(async () => {
  server = await startTestServer()
  ca = await makeCa()
})
afterAll(() => server.close())

const FRAMES_PER_S = 57

/** Noise makes the frame as large as that of the attack. */
function inflatingFrame(mac: string): string {
  const noise = Array.from({ length: 125 }, (_, index) =>
    createHash('sha256').update(String(index)).digest('hex'),
  ).join('')
  const text = `{"serial":"${mac}","state":{"noise":"${noise}","many":[${'{},'.repeat(690_000)}{}]}}`
  expect(text.length).toBeGreaterThan(2_000_000)
  return JSON.stringify({ method: 'state', params: { compress_64: deflateSync(text).toString('base64') } })
}

test('it is closed for what they inflate to, after four of them, and each call of a client is answered', async () => {
  const { ctx, org } = server
  let nowMs = 0
  const tls = await issueGatewayTls(ca, ['127.0.0.1'])
  const gateway = await startGateway(ctx, {
    protocols: createProtocols({
      ucentral: { host: '127.0.0.1', port: 0, tls, limits: { lookMs: 1 } },
      edge: { host: '127.0.0.1', port: 0, tls, dataDir: server.dataDir },
    }),
    nodeId: randomUUID(),
    monotonicMs: () => nowMs,
    limits: { tickMs: 10 },
  })
  onTestFinished(() => gateway.stop())
  const mac = newMac()
  const id = await claimDevice(ctx, org.orgId, { mac, type: 'ap' })
  const device = await openDevice(gateway.portOf('ucentral'), ca, { mac, answersTelemetry: false })
  device.hello()
  const status = () => ctx.db.selectFrom('deviceStatus').select('connected').where('deviceId', '=', id)
  await waitUntil('connected', async () => (await status().executeTakeFirst())?.connected === true)

  const frame = inflatingFrame(mac)
  expect(frame.length).toBeGreaterThan(8000)
  expect(frame.length).toBeLessThan(10_000)
  const { socket } = device
  await waitUntil('the end of the session', async () => {
    for (let sent = 0; sent < FRAMES_PER_S && socket.readyState === socket.OPEN; sent += 1) socket.send(frame)
    expect((await server.call('GET', '/self')).status).toBe(200)
    nowMs += 1000
    return socket.readyState === socket.CLOSED
  })
  expect(await device.closed).toBe(1008)
  const { malformed_frame: read, flood } = gateway.counters.read()
  expect(flood).toBe(1)
  // The burst of 2 MiB, in parts of 512 KiB; a second's refill may allow one more.
  expect(read).toBeLessThanOrEqual(5)
  expect((await server.call('GET', `/orgs/${org.orgId}/inventory`)).status).toBe(200)
})
