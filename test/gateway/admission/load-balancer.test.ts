import { type AddressInfo, connect, createServer } from 'node:net'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { defaultConnections } from '../../../src/platform/queues/connection-gate.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type GatewayHarness, connectParams, createGatewayHarness, newMac, openDevice } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

/** Relays to the gateway as a load balancer does, with this header before the bytes of each client. */
async function startBalancer(port: number, header: string): Promise<number> {
  const balancer = createServer((client) => {
    const server = connect(port, '127.0.0.1')
    for (const socket of [client, server]) socket.on('error', () => socket.destroy())
    // One packet contains the header and the beginning of TLS.
    client.once('data', (first: Buffer) => {
      server.write(Buffer.concat([Buffer.from(header), first]))
      client.pipe(server).pipe(client)
    })
  })
  await new Promise<void>((resolve) => void balancer.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void balancer.close())
  return (balancer.address() as AddressInfo).port
}

describe('a load balancer', () => {
  const header = 'PROXY TCP4 198.51.100.9 192.0.2.1 4711 15002\r\n'

  it('passes on the address of a device', async () => {
    const gateway = await harness.start({ connections: { ...defaultConnections, balancers: ['127.0.0.1/32'] } })
    const mac = newMac()
    await harness.claim(mac)
    const device = await openDevice(await startBalancer(gateway.port, header), harness.ca, { mac })
    device.hello(connectParams(mac))
    await waitUntil('connected', async () => (await harness.status(mac)).connected)
    const { extIp } = await harness.ctx.db
      .selectFrom('deviceFact')
      .select('extIp')
      .where('deviceId', '=', deviceIdOf(mac))
      .executeTakeFirstOrThrow()
    expect(extIp).toBe('198.51.100.9')
  })

  it('is believed only where the operator names it', async () => {
    const gateway = await harness.start()
    const socket = connect(await startBalancer(gateway.port, header), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write('TLS')
    await waitUntil('a refusal', () => gateway.counters.read().refused_tls > 0)
  })
})
