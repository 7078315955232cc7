import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import type { Protocol } from '../../src/gateway/protocol.ts'
import { type GatewayHarness, claimDevice, createGatewayHarness, newMac } from '../gateway/harness.ts'
import { waitUntil } from '../support/wait-until.ts'
import { newHostKey, startJunos, testNetconf, untilSession } from './harness.ts'
import { insertOrg } from '../../src/orgs/store.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { systemScope } from '../../src/access/scope.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

async function start() {
  const gateway = await harness.start({ protocols: [testNetconf(harness.ctx)] })
  return { gateway, place: { port: gateway.portOf('junos'), ctx: harness.ctx, orgId: harness.orgId } }
}

async function addOrg(): Promise<string> {
  const id = randomUUID()
  const content = { name: 'Other', doc: {}, at: harness.ctx.clock.now() }
  await inTx(harness.ctx, (tx) => insertOrg(tx, systemScope('gateway', id), content))
  return id
}

const keysOf = (mac: string) =>
  harness.ctx.db.selectFrom('deviceHostKey').selectAll().where('deviceId', '=', deviceIdOf(mac)).execute()

describe('a device that calls home', () => {
  test('is recorded with its facts, and its host key is known from then on', async () => {
    const { place } = await start()
    const mac = newMac()
    await harness.claim(mac, 'switch')
    startJunos({ ...place, mac, form: 'virtual_chassis' })
    const session = await untilSession(harness, mac)
    expect(session).toMatchObject({
      family: 'junos',
      orgId: harness.orgId,
      firmware: '22.4R3.25',
      facts: {
        model: 'EX4100-48P',
        type: 'switch',
        capabilities: {
          commands: ['restart', 'stage', 'activate', 'restore_backup', 'snapshot'],
          restart_members: [0, 1, 2],
          restart_nodes: [],
          repeatable: ['activate'],
        },
      },
    })
    expect(session.facts.members).toHaveLength(3)
    expect(await keysOf(mac)).toHaveLength(1)
    await waitUntil('the uptime', async () => (await harness.status(mac)).load !== null)
    expect((await harness.status(mac)).load).toMatchObject({ uptime_s: 86_400 })
  })

  test('gets no key while it is unclaimed', async () => {
    const { place } = await start()
    const { mac } = startJunos(place)
    await untilSession(harness, mac)
    expect(await keysOf(mac)).toEqual([])
  })
})

describe('a connection is refused', () => {
  /** A refusal has no other effect, so a second device proves that the first one was handled. */
  async function expectRefused(
    gateway: { counters: { read(): Readonly<Record<string, number>> } },
    counter: string,
  ): Promise<void> {
    await waitUntil(counter, () => (gateway.counters.read()[counter] ?? 0) > 0)
  }

  test('when another key than the known one presents the MAC, though it knows the secret', async () => {
    const { gateway, place } = await start()
    const mac = newMac()
    await harness.claim(mac, 'switch')
    startJunos({ ...place, mac })
    const { epoch } = await untilSession(harness, mac)
    startJunos({ ...place, mac, hostKey: newHostKey() })
    await expectRefused(gateway, 'refused_host_key')
    const session = await untilSession(harness, mac)
    expect(session.epoch).toBe(epoch)
    expect(await keysOf(mac)).toHaveLength(1)
  })

  test.each([
    ['with a wrong secret', { secret: 'guessed' }],
    ['with a device id alone', { secret: null }],
  ])('%s', async (_, { secret }) => {
    const { gateway, place } = await start()
    startJunos({ ...place, call: { outboundSsh: { deviceId: harness.orgId, secret } } })
    await expectRefused(gateway, 'refused_host_key')
  })

  test('without a preamble, when its key is unknown', async () => {
    const { gateway, place } = await start()
    startJunos({ ...place, call: { outboundSsh: undefined } as never })
    await expectRefused(gateway, 'refused_host_key')
  })

  test('when the device belongs to another organization, and its session continues', async () => {
    const { gateway, place } = await start()
    const mac = newMac()
    await harness.claim(mac, 'switch')
    startJunos({ ...place, mac })
    const { epoch } = await untilSession(harness, mac)
    const orgId = await addOrg()
    startJunos({ ...place, mac, orgId })
    await expectRefused(gateway, 'refused_foreign')
    expect(await untilSession(harness, mac)).toMatchObject({ epoch, orgId: harness.orgId })
  })

  test('when it says anything else than a preamble', async () => {
    const { gateway, place } = await start()
    const socket = connect(place.port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\n\r\nSSH-2.0-x\r\n'))
    socket.on('error', () => undefined)
    await once(socket, 'close')
    await expectRefused(gateway, 'refused_preamble')
  })

  test('when it says nothing for too long', async () => {
    const { gateway, place } = await start()
    const socket = connect(place.port, '127.0.0.1')
    socket.on('error', () => undefined)
    const closed = once(socket, 'close')
    await waitUntil('the refusal', () => {
      harness.advance(15_000)
      return (gateway.counters.read()['refused_late'] ?? 0) > 0
    })
    await closed
  })

  test('when the device does not let the service in', async () => {
    const { gateway, place } = await start()
    startJunos({ ...place, call: { authorizedKey: 'ssh-ed25519 AAAA' } })
    await expectRefused(gateway, 'refused_ssh')
  })
})

describe('a device whose key is known', () => {
  test('calls home without a secret, and after the secret was replaced', async () => {
    const { place } = await start()
    const mac = newMac()
    await harness.claim(mac, 'switch')
    const hostKey = newHostKey()
    const first = startJunos({ ...place, mac, hostKey })
    const { epoch } = await untilSession(harness, mac)
    await first.stop()
    const wrong = { outboundSsh: { deviceId: harness.orgId, secret: 'of an older generation' } }
    const second = startJunos({ ...place, mac, hostKey, call: wrong })
    const { epoch: next } = await untilSession(harness, mac, epoch)
    await second.stop()
    startJunos({ ...place, mac, hostKey, call: { outboundSsh: undefined } as never })
    expect(await untilSession(harness, mac, next)).toMatchObject({ family: 'junos' })
  })

  test('speaks the older framing and needs the older command', async () => {
    const { place } = await start()
    const { mac } = startJunos({ ...place, call: { isOld: true } })
    expect(await untilSession(harness, mac)).toMatchObject({ family: 'junos' })
  })
})

test('a session of one organization serves no other one that claims the device later', async () => {
  const { place } = await start()
  const { mac } = startJunos(place)
  await untilSession(harness, mac)
  const other = await addOrg()
  await claimDevice(harness.ctx, other, { mac, type: 'switch' })
  expect((await harness.status(mac)).connected).toBe(false)
})

test('a cluster restarts its nodes one by one, or both', async () => {
  const { place } = await start()
  const mac = newMac()
  await harness.claim(mac, 'gateway')
  const minute = Promise.withResolvers<void>()
  const call = { waitMinutes: () => minute.promise }
  const { device } = startJunos({ ...place, mac, model: 'srx345', form: 'cluster', call })
  const session = await untilSession(harness, mac)
  expect(session.facts).toMatchObject({
    type: 'gateway',
    model: 'SRX345',
    capabilities: {
      commands: ['restart', 'stage', 'activate'],
      restart_nodes: ['node0', 'node1'],
      restart_members: [],
    },
  })
  expect(session.facts.members?.map(({ member }) => member)).toEqual([0, 1])
  await harness.queue(mac, { kind: 'restart', params: { node: 'node1' } })
  await waitUntil('its request', () => device.journal.length > 0)
  expect(device.journal).toEqual(['reboot 1'])
  await waitUntil('its return', () => device.booting.length === 0)
  const bootedAtMs = device.chassis.map((node) => node.bootedAtMs)
  harness.advance(1000)
  const both = await harness.queue(mac, { kind: 'restart', params: {} })
  await harness.untilCommand(both, 'done')
  expect(device.journal).toEqual(['reboot 1', 'reboot 0', 'reboot 1'])
  minute.resolve()
  await untilSession(harness, mac, session.epoch)
  await waitUntil('the boots of both', () => device.booting.length === 0)
  for (const [index, node] of device.chassis.entries()) expect(node.bootedAtMs).toBeGreaterThan(bootedAtMs[index] ?? 0)
})

test('while the database fails, few of the devices that call again and again are errors in the log', async () => {
  const log = { ...harness.ctx.log, error: vi.fn(), debug: vi.fn() }
  const db = new Proxy(harness.ctx.db, {
    get() {
      throw new Error('Connection terminated unexpectedly')
    },
  })
  const protocol = testNetconf(harness.ctx)
  const failing: Protocol = {
    family: protocol.family,
    listen: (host) => protocol.listen({ ...host, ctx: { ...host.ctx, db, log } }),
  }
  const gateway = await harness.start({ protocols: [failing] })
  startJunos({ ctx: harness.ctx, orgId: harness.orgId, port: gateway.portOf('junos') })
  const count = ({ mock }: typeof log.error) =>
    mock.calls.filter(([, line]) => line === 'a device could not be connected').length
  await waitUntil('three failures', () => count(log.error) + count(log.debug) >= 3)
  expect(count(log.error)).toBe(1)
})
