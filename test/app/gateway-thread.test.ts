import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { uuidv7 } from 'uuidv7'
import { systemScope } from '../../src/access/scope.ts'
import { type GatewayThread, startGatewayThread } from '../../src/app/gateway/start-gateway-thread.ts'
import { revokeCertificates } from '../../src/devices/certificates/revoke-certificates.ts'
import { insertUpgradeCommands } from '../../src/devices/commands/store-upgrade-commands.ts'
import { insertCommands } from '../../src/devices/commands/store.ts'
import {
  type DeviceCa,
  type GatewayTls,
  issueDeviceCertificate,
  issueGatewayTls,
  makeCa,
} from '../../src/gateway/certificates/device-ca.ts'
import { addMs } from '../../src/platform/time/clock.ts'
import { inTx, inTxByKeys } from '../../src/platform/database/db.ts'
import { claimDevice, insertImage, newMac, openDevice } from '../gateway/harness.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { type TestContext, createTestContext } from '../support/servers/server.ts'
import { WITHIN_MS, waitUntil } from '../support/wait-until.ts'
import { insertOrg } from '../../src/orgs/store.ts'

const HOUR_MS = 3600e3

interface World extends TestContext {
  readonly ca: DeviceCa
  readonly tls: GatewayTls
  readonly orgId: string
  /** The lines that the thread has logged. */
  readonly lines: string[]
  readonly start: (ports?: { ucentral?: number }) => Promise<GatewayThread>
}

async function createWorld(): Promise<World> {
  const context = await createTestContext()
  onTestFinished(() => context.close())
  const { ctx, database, dataDir } = context
  const ca = await makeCa()
  const tls = await issueGatewayTls(ca, ['127.0.0.1', 'localhost'])
  const orgId = randomUUID()
  const content = { name: 'Test', doc: {}, at: ctx.clock.now() }
  await inTx(ctx, (tx) => insertOrg(tx, systemScope('gateway', orgId), content))
  const lines: string[] = []
  return {
    ...context,
    ca,
    tls,
    orgId,
    lines,
    async start({ ucentral = 0 } = {}) {
      const thread = await startGatewayThread(ctx, {
        program: await builtProgram('gateway-thread'),
        connection: { ...database.connection, max: 4 },
        dataDir,
        logLevel: 'debug',
        protocols: {
          ucentral: { host: '127.0.0.1', port: ucentral, tls },
          edge: { host: '127.0.0.1', port: 0, tls, dataDir },
        },
        nodeId: randomUUID(),
        localCertificates: false,
        // Only wakes can be in time.
        limits: { tickMs: HOUR_MS, sweepMs: HOUR_MS },
        readTime: context.readTime,
        logOutput: { write: (line) => void lines.push(line) },
      })
      onTestFinished(() => thread.stop())
      return thread
    },
  }
}

/** Connects a new device of the organization, of which the other threads hear. */
async function connectDevice({ ctx, ca, orgId }: World, { ports }: GatewayThread) {
  const mac = newMac()
  const deviceId = await claimDevice(ctx, orgId, { mac, type: 'ap' })
  const woken = new Promise<void>((resolve) => ctx.wakes.on('rollouts', () => resolve()))
  const device = await openDevice(ports.ucentralPort, ca, { mac })
  device.hello()
  await woken
  await device.untilTelemetryCall()
  return { mac, deviceId, device }
}

it('counts a device that connects, wakes the other threads for it, and sends a command as soon as it is committed', async () => {
  const world = await createWorld()
  const { ctx, orgId } = world
  const thread = await world.start()
  const { deviceId, device } = await connectDevice(world, thread)
  await waitUntil('the connection is counted', () => thread.countLinks() === 1)
  const now = ctx.clock.now()
  const command = {
    id: uuidv7(),
    deviceId,
    siteId: null,
    siteUpgradeId: null,
    attempt: 1,
    createdAt: now,
    expiresAt: addMs(now, HOUR_MS),
    kind: 'restart',
    params: {},
  } as const
  await inTx(ctx, (tx) => insertCommands(tx, systemScope('rollout', orgId), [command]))
  const { id, method } = await device.nextCall()
  expect(method).toBe('reboot')
  device.reply(id, { error: 0, text: 'Success' })
  const state = () =>
    ctx.db.selectFrom('deviceCommand').select('state').where('id', '=', command.id).executeTakeFirstOrThrow()
  await waitUntil('the command has ended', async () => (await state()).state === 'done')
})

it('sends an upgrade that is committed as sent', async () => {
  const world = await createWorld()
  const { ctx, orgId } = world
  const { mac, deviceId, device } = await connectDevice(world, await world.start())
  const now = ctx.clock.now()
  const imageId = randomUUID()
  await insertImage(ctx, orgId, imageId)
  const capabilities = { commands: ['upgrade' as const], restart_members: [], restart_nodes: [] }
  const command = {
    ...{
      id: uuidv7(),
      deviceId,
      siteId: null,
      siteUpgradeId: randomUUID(),
      attempt: 1,
      createdAt: now,
      expiresAt: null,
    },
    ...{ kind: 'upgrade' as const, params: { image_id: imageId, version: '2.0.0' } },
    carrier: { epoch: '1', mac, type: 'ap' as const, capabilities },
  }
  const times = { at: now, atMs: ctx.serviceClock.nowMs() }
  await inTxByKeys(ctx, (tx) => insertUpgradeCommands(tx, systemScope('rollout', orgId), [command], times))
  expect((await device.nextCall()).method).toBe('upgrade')
})

it('reports refused devices with the reason to the other threads', async () => {
  const { ctx, ca, orgId, start } = await createWorld()
  const thread = await start()
  const mac = newMac()
  await claimDevice(ctx, orgId, { mac, type: 'ap' })
  expect(await thread.listRefusals()).toEqual([])
  await revokeCertificates(ctx, { mac, serial: '' })
  const device = await openDevice(thread.ports.ucentralPort, ca, { mac })
  device.hello()
  await device.closed
  await expect(openDevice(thread.ports.ucentralPort, await makeCa(), { mac })).rejects.toThrow()
  const refused = await waitUntil('both are known', async () => {
    const known = await thread.listRefusals()
    return known.length === 2 ? known : null
  })
  expect(refused.toSorted((one, other) => one.why.localeCompare(other.why))).toMatchObject([
    { protocol: 'ucentral', why: 'identity', mac, address: '127.0.0.1', count: 1 },
    { protocol: 'ucentral', why: 'tls', count: 1 },
  ])
  await thread.stop()
  expect(await thread.listRefusals()).toEqual([])
})

it('serves devices while the thread that answers clients is blocked', async () => {
  const { ca, dataDir, orgId, ctx, start } = await createWorld()
  const { ports } = await start()
  const mac = newMac()
  await claimDevice(ctx, orgId, { mac, type: 'ap' })
  const place = join(dataDir, 'device.json')
  const identity = await issueDeviceCertificate(ca, mac)
  await writeFile(place, JSON.stringify({ port: ports.ucentralPort, ca: ca.certificatePem, mac, ...identity }))
  const program = fileURLToPath(new URL('../support/fleets/one-device.ts', import.meta.url))
  // No other work runs in this thread until the device has ended.
  const printed = execFileSync(process.execPath, [program, place], { encoding: 'utf8', timeout: WITHIN_MS })
  expect(printed).toBe('telemetry\n')
})

it('asks devices to come back when it stops, and leaves no session and no log line behind', async () => {
  const world = await createWorld()
  const { ctx, lines } = world
  const thread = await world.start()
  const { mac, device } = await connectDevice(world, thread)
  device.send('strange', {})
  await waitUntil('the line has arrived', () => lines.length > 0)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 40, mac, what: 'unknown_method', msg: expect.any(String) })
  await thread.stop()
  expect(await device.closed).toBe(1012)
  expect(await ctx.db.selectFrom('gatewayNode').select('id').execute()).toEqual([])
  expect(lines.filter((line) => JSON.parse(line).level > 40)).toEqual([])
})

it('refuses to start on a port that is in use, with the error of the system', async () => {
  const { start } = await createWorld()
  const other = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await waitUntil('it listens', () => other.listening)
  const { port } = other.address() as AddressInfo
  await expect(start({ ucentral: port })).rejects.toMatchObject({ code: 'EADDRINUSE', port })
})
