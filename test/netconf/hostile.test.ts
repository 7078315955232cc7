// The limits of the owner of one Junos device, with its key and with the secret of its organization.
import { connect } from 'node:net'
import { sql } from 'kysely'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { callHomeSecretOf } from '../../src/devices/call-home/secret.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import { callHome } from '../../src/simulator/junos/call-home.ts'
import {
  type GatewayHarness,
  type RunningGateway,
  createGatewayHarness,
  newMac,
  openDevice,
} from '../gateway/harness.ts'
import { waitUntil } from '../support/wait-until.ts'
import { newHostKey, startJunos, testNetconf, untilSession } from './harness.ts'

let harness: GatewayHarness
let gateway: RunningGateway
beforeAll(async () => {
  harness = await createGatewayHarness()
})
beforeEach(async () => {
  gateway = await harness.start({ protocols: [testNetconf(harness.ctx)] })
})

const place = () => ({ port: gateway.portOf('junos'), ctx: harness.ctx, orgId: harness.orgId })
const secret = () => callHomeSecretOf(harness.ctx, { orgId: harness.orgId, generation: 0 })

const MIB = 1024 * 1024

test('it gets no new session for a while when its replies are too large for its allowance, whatever it calls itself', async () => {
  const hostKey = newHostKey()
  const large = { hostKey, onRpc: () => Promise.resolve(`<x>${'x'.repeat(450_000)}</x>`) }
  const call = () =>
    callHome({
      host: '127.0.0.1',
      port: gateway.portOf('junos'),
      outboundSsh: { deviceId: harness.orgId, secret: secret() },
      ...large,
    })
  await call().closed
  expect(gateway.counters.read()).toMatchObject({ flood: 1, refused_flooding: 0, malformed_frame: 0 })
  await call().closed
  expect(gateway.counters.read()).toMatchObject({ flood: 1, refused_flooding: 1 })
  // Another device with the same secret is served, and this one as well once its allowance has refilled.
  const { mac } = startJunos(place())
  await untilSession(harness, mac)
  harness.advance(60_000)
  const { mac: own } = startJunos({ ...place(), hostKey })
  await untilSession(harness, own)
})

test("it can't send without end what SSH itself ignores, before it has proved anything", async () => {
  const socket = connect(place().port, '127.0.0.1')
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()))
  socket.write('SSH-2.0-x\r\n')
  // A packet whose type is SSH_MSG_IGNORE. Source: RFC 4253, 11.2.
  const packet = Buffer.alloc(32_768)
  packet.writeUInt32BE(packet.length - 4)
  packet.writeUInt8(4, 4)
  packet.writeUInt8(2, 5)
  packet.writeUInt32BE(packet.length - 4 - 1 - 1 - 4 - 4, 6)
  for (let sent = 0; sent < 64 * MIB && !socket.closed; sent += packet.length)
    if (!socket.write(packet)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
  expect(socket.closed).toBe(true)
  expect(socket.bytesWritten).toBeGreaterThan(2 * MIB)
  expect(socket.bytesWritten).toBeLessThan(32 * MIB)
})

test("it can't act as a device that proves itself by another protocol, nor as an access point", async () => {
  const [ap, other] = [newMac(), newMac()]
  await harness.claim(ap, 'ap')
  await harness.claim(other, 'switch')
  const device = await openDevice(gateway.port, harness.ca, { mac: other, answersTelemetry: false })
  device.hello()
  const { epoch } = await untilSession(harness, other)
  for (const [index, mac] of [ap, other].entries()) {
    const impostor = startJunos({ ...place(), mac })
    await waitUntil('the refusal', () => gateway.counters.read().refused_host_key > index)
    await impostor.stop()
  }
  expect(await untilSession(harness, other)).toMatchObject({ epoch, family: 'ucentral' })
  expect((await harness.status(ap)).connected).toBe(false)
})

test("it can't fill the registry with devices that it invents, but a known one is still served", async () => {
  const known = newMac()
  await harness.claim(known, 'switch')
  await sql`with device as (
      select n, md5(n::text)::uuid as id, '06' || lpad(to_hex(n), 10, '0') as mac from generate_series(1, 1000) n),
    registered as (insert into device_registry (id, mac, serial, model, type, claim_code, created_at)
      select id, mac, mac, 'EX4100', 'switch', 'INVENTED' || lpad(n::text, 7, '0'), now() from device)
    insert into device_session (device_id, node_id, family, epoch, connected, connected_at, firmware, facts, org_id)
    select id, ${harness.nodeId}, 'junos', 1, false, now(), '1', '{}', ${harness.orgId} from device`.execute(
    harness.ctx.db,
  )
  const { mac } = startJunos(place())
  await waitUntil('the refusal', () => gateway.counters.read().refused_host_key > 0)
  const session = harness.ctx.db.selectFrom('deviceRegistry').selectAll().where('id', '=', deviceIdOf(mac))
  expect(await session.execute()).toEqual([])
  startJunos({ ...place(), mac: known })
  await untilSession(harness, known)
})
