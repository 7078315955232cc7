import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createArrivals } from '../../../src/gateway/admission/arrivals.ts'
import { newHostKey, startJunos, testNetconf } from '../../netconf/harness.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type GatewayHarness, createGatewayHarness, openDevice } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

/** With room for two. */
const admission = { perSecond: 1000, burst: 1000, handshakes: 2, waitMs: 1e9 }
/** The clock may run far ahead of a slow machine. */
const patient = { upgradeMs: 1e9, answerMs: 1e9, preambleMs: 1e9, helloMs: 1e9, deadMs: 1e9 }

interface Silent {
  readonly socket: Socket
  readonly closed: () => boolean
}

async function openSilent(port: number, localAddress: string): Promise<Silent> {
  const socket = connect({ host: '127.0.0.1', port, localAddress })
  socket.on('error', () => {})
  socket.resume()
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return { socket, closed: () => socket.closed }
}

function untilClosed({ closed }: Silent): Promise<unknown> {
  return waitUntil('the end of the connection', () => {
    harness.advance(100)
    return closed()
  })
}

describe('while others wait for a place', () => {
  test('the connection that has been silent for longest has to go after 2 s, and the newcomer gets its session', async () => {
    const gateway = await harness.start({ limits: { ...patient, admission } })
    const first = await openSilent(gateway.port, '127.0.0.2')
    const second = await openSilent(gateway.port, '127.0.0.3')
    const opening = openDevice(gateway.port, harness.ca)
    await untilClosed(first)
    await opening
    expect(gateway.counters.read()).toMatchObject({ refused_silent: 1, refused_busy: 0, refused_late: 0, sessions: 1 })
    expect(second.closed()).toBe(false)
  })

  test('a connection without SSH makes room for a device that calls home', async () => {
    const limits = { ...patient, admission }
    const gateway = await harness.start({ protocols: [testNetconf(harness.ctx, limits)] })
    const port = gateway.portOf('junos')
    const first = await openSilent(port, '127.0.0.2')
    const second = await openSilent(port, '127.0.0.3')
    const { mac } = startJunos({ port, ctx: harness.ctx, orgId: harness.orgId, hostKey: newHostKey() })
    await untilClosed(first)
    await waitUntil('the device', async () => {
      const rows = await harness.ctx.db.selectFrom('deviceRegistry').select('id').where('mac', '=', mac).execute()
      return rows.length === 1
    })
    expect(gateway.counters.read()).toMatchObject({ refused_silent: 1, refused_busy: 0 })
    expect(second.closed()).toBe(false)
  })

  test('keeps connections that send, and closes none while there is room', async () => {
    let nowMs = 0
    const accepted: Socket[] = []
    const refused: [string, Socket][] = []
    const arrivals = createArrivals({
      admission,
      now: () => nowMs,
      upgradeMs: 1e9,
      answerMs: 1e9,
      silentMs: 2000,
      lookMs: 1,
      beginTls: (socket) => void accepted.push(socket.resume()),
      onRefused: (why, socket) => refused.push([why, socket]),
    })
    const server = createServer({ pauseOnConnect: true }, (socket) => {
      socket.on('error', () => {})
      arrivals.add(socket, `192.0.2.${accepted.length}`)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      arrivals.stop()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const first = await openSilent(port, '127.0.0.1')
    await waitUntil('the first', () => accepted.length === 1)
    const second = await openSilent(port, '127.0.0.1')
    await waitUntil('the second', () => accepted.length === 2)
    nowMs = 10_000
    first.socket.write('x')
    await waitUntil('its byte', () => accepted[0]?.bytesRead === 1)
    expect(refused).toEqual([])
    await openSilent(port, '127.0.0.1')
    await waitUntil('the third', () => accepted.length === 3)
    expect(refused).toEqual([['silent', accepted[1]]])
    await waitUntil('the end of the second', second.closed)
    expect(first.closed()).toBe(false)
  })
})

describe('a network with too many connections', () => {
  test('is refused more of them, while another one is served', async () => {
    const gateway = await harness.start({ limits: { deadMs: 1e9 }, connections: { maxPerNetwork: 2 } })
    const [first] = [await openDevice(gateway.port, harness.ca), await openSilent(gateway.port, '127.0.0.1')]
    await expect(openDevice(gateway.port, harness.ca)).rejects.toThrow()
    await openSilent(gateway.port, '127.0.0.2')
    expect(gateway.counters.read()).toMatchObject({ refused_network: 1, sessions: 1 })
    first.socket.terminate()
    await waitUntil('a free place', () => openDevice(gateway.port, harness.ca).then(Boolean, () => false))
  })
})
