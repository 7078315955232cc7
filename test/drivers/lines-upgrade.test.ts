// A site upgrade over a protocol whose devices download and reboot in two steps, with the real interface, gateway, engine
// and downloads.
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemScope } from '../../src/access/scope.ts'
import { insertCommands } from '../../src/devices/commands/store.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { type Gateway, startGateway } from '../../src/gateway/start-gateway.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { type RolloutOptions, defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { seedOrg } from '../support/fleets/fleet.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { waitUntil } from '../support/wait-until.ts'
import { quickTicks } from '../support/servers/quick-ticks.ts'
import { openLinePeer } from './lines/peer.ts'
import { FAMILY, lines } from './lines/protocol.ts'
import type { TestPeer } from './link-suite.ts'

const MODEL = 'test_model'
const VERSION = '3.0.0'
const HOUR_S = 3600
const image = randomBytes(100_000)
const options: RolloutOptions = { ...defaultRolloutOptions, soakMs: 0, retryMs: 5 }
const nodeId = randomUUID()
const running = new Set<Gateway>()

let clock: TestClock
let server: TestServer
let mac: string
beforeEach(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  const org = await seedOrg(server.ctx, [{ devices: 1, model: MODEL, type: 'gateway' }], server.org.orgId)
  mac = org.sites[0]?.devices[0]?.mac ?? ''
  const uploaded = await fetch(
    `${server.url}/api/v1/orgs/${server.org.orgId}/firmware?version=${VERSION}&models=${MODEL}`,
    {
      method: 'POST',
      headers: { authorization: `Token ${server.org.token}`, 'content-type': 'application/octet-stream' },
      body: new Uint8Array(image),
    },
  )
  expect(uploaded.status).toBe(200)
})
afterEach(async () => {
  await Promise.all([...running].map(stop))
  await server.close()
})

async function startLines(): Promise<Gateway> {
  const gateway = await startGateway(server.ctx, {
    protocols: [lines],
    nodeId,
    monotonicMs: () => clock.now().getTime(),
    limits: quickTicks,
  })
  running.add(gateway)
  return gateway
}

async function stop(gateway: Gateway): Promise<void> {
  if (running.delete(gateway)) await gateway.stop()
}

/** Connects the device and sends its hello; resolves once its session is recorded. */
async function connect(gateway: Gateway, version: string): Promise<TestPeer> {
  const epochOf = async () =>
    (
      await server.ctx.db
        .selectFrom('deviceSession')
        .select('epoch')
        .where('deviceId', '=', deviceIdOf(mac))
        .executeTakeFirst()
    )?.epoch
  const before = await epochOf()
  const peer = await openLinePeer({ port: gateway.portOf(FAMILY), mac, version })
  peer.hello()
  await waitUntil('the session', async () => (await epochOf()) !== before)
  return peer
}

const orgPath = (path: string): string => `/orgs/${server.org.orgId}${path}`

async function createUpgrade(body: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const upgrade = { all_sites: true, strategy: 'big_bang', version: VERSION, ...body }
  const answer = await server.call('POST', orgPath('/devices/upgrade'), { body: upgrade })
  expect(answer).toMatchObject({ status: 200 })
  return String(answer.body.id)
}

/** The site upgrade, as the interface shows it. */
async function readSite(id: string): Promise<AnyJson> {
  return (await server.call('GET', orgPath(`/devices/upgrade/${id}`))).body.upgrades[0].upgrade
}

/** Rounds of the engine until the device is the only one in that list. */
async function untilIn(id: string, bucket: string): Promise<AnyJson> {
  return waitUntil(bucket, async () => {
    clock.advance(1)
    await advanceRollouts(server.ctx, options, new AbortController().signal)
    const site = await readSite(id)
    return site.targets[bucket].length === 1 ? site : null
  })
}

/** Simulates a device's reaction to `stage <uri>`. */
async function download(text: string): Promise<void> {
  const [order, uri = ''] = text.split(' ')
  expect(order).toBe('stage')
  const answer = await fetch(uri)
  expect(Buffer.from(await answer.arrayBuffer()).equals(image)).toBe(true)
}

async function commandsOf(): Promise<readonly { kind: string; state: string }[]> {
  return server.ctx.db.selectFrom('deviceCommand').select(['kind', 'state']).orderBy('id').execute()
}

/** Proves that the engine has sent nothing else: the next command that the device gets is a person's. */
async function expectNoCall(peer: TestPeer): Promise<void> {
  const at = clock.now()
  const restart = { id: randomUUID(), deviceId: deviceIdOf(mac), kind: 'restart', params: {}, attempt: 1 } as const
  const row = {
    ...restart,
    siteId: null,
    siteUpgradeId: null,
    createdAt: at,
    expiresAt: new Date(at.getTime() + 60_000),
  }
  await inTx(server.ctx, (tx) => insertCommands(tx, systemScope('rollout', server.org.orgId), [row]))
  expect((await peer.nextCall()).text).toBe('restart')
}

const inAnHour = (): number => clock.now().getTime() / 1000 + HOUR_S

test('a site upgrade downloads, waits and activates, each exactly once, though each answer is lost in a crash', async () => {
  const first = await startLines()
  const old = await connect(first, '1.0.0')
  const id = await createUpgrade({ reboot_at: inAnHour() })
  await untilIn(id, 'download_requested')
  await download((await old.nextCall()).text)
  // The device has the image; before it reports that, the gateway stops and its connection breaks.
  await stop(first)
  await old.closed
  const second = await startLines()
  const waiting = await connect(second, '1.0.0')
  expect(await untilIn(id, 'downloaded')).toMatchObject({ status: 'downloaded', targets: { total: 1 } })
  await expectNoCall(waiting)
  await stop(second)

  clock.advance(HOUR_S * 1000)
  const third = await startLines()
  const peer = await connect(third, '1.0.0')
  expect(await untilIn(id, 'reboot_in_progress')).toMatchObject({ status: 'upgrading' })
  expect((await peer.nextCall()).text).toBe('activate')
  // It reboots without an answer, and connects to another gateway.
  await stop(third)
  await peer.closed
  const fourth = await startLines()
  const upgraded = await connect(fourth, VERSION)
  expect(await untilIn(id, 'upgraded')).toMatchObject({ status: 'completed' })
  await expectNoCall(upgraded)

  const kinds = (await commandsOf()).map(({ kind }) => kind)
  expect(kinds.filter((kind) => kind !== 'restart')).toEqual(['stage', 'activate'])
  const downloads = await server.ctx.db.selectFrom('firmwareDownload').select(['deliveredAt', 'bytesServed']).execute()
  expect(downloads).toEqual([{ deliveredAt: expect.any(Date), bytesServed: String(image.length) }])
})

test.each([{}, { download_strategy: 'serial', reboot_strategy: 'canary' }])(
  'a device that answers is activated at once where the reboots may begin with the start: %j',
  async (body) => {
    const peer = await connect(await startLines(), '1.0.0')
    const id = await createUpgrade(body)
    await untilIn(id, 'download_requested')
    const stage = await peer.nextCall()
    await download(stage.text)
    stage.accept()
    await untilIn(id, 'reboot_in_progress')
    const activate = await peer.nextCall()
    expect(activate.text).toBe('activate')
    activate.accept()
    await waitUntil('the answer', async () => (await commandsOf()).every(({ state }) => state === 'done'))
    peer.drop()
    await connect(await startLines(), VERSION)
    expect(await untilIn(id, 'upgraded')).toMatchObject({ status: 'completed' })
  },
)

test('a device that has lost the image downloads again', async () => {
  const peer = await connect(await startLines(), '1.0.0')
  const id = await createUpgrade()
  await untilIn(id, 'download_requested')
  const stage = await peer.nextCall()
  await download(stage.text)
  stage.accept()
  await untilIn(id, 'reboot_in_progress')
  ;(await peer.nextCall()).refuse('no image')
  await waitUntil('the refusal', async () => (await commandsOf()).some(({ state }) => state === 'rejected'))
  await untilIn(id, 'download_requested')
  await download((await peer.nextCall()).text)
  expect((await commandsOf()).map(({ kind }) => kind)).toEqual(['stage', 'activate', 'stage'])
})

test('a device that waits with the image is never activated once the upgrade is cancelled', async () => {
  const peer = await connect(await startLines(), '1.0.0')
  const id = await createUpgrade({ reboot_at: inAnHour() })
  await untilIn(id, 'download_requested')
  const stage = await peer.nextCall()
  await download(stage.text)
  stage.accept()
  await untilIn(id, 'downloaded')
  expect(await server.call('POST', orgPath(`/devices/upgrade/${id}/cancel`))).toMatchObject({ status: 200 })
  expect(await untilIn(id, 'cancelled')).toMatchObject({ status: 'cancelled' })
  await expectNoCall(peer)
})
