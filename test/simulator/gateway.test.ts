import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemScope } from '../../src/access/scope.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import { insertCommands } from '../../src/devices/commands/store.ts'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { issueGatewayTls, makeCa } from '../../src/gateway/certificates/device-ca.ts'
import { createProtocols } from '../../src/gateway/protocols.ts'
import { type Gateway, startGateway } from '../../src/gateway/start-gateway.ts'
import { inTx } from '../../src/platform/database/db.ts'
import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'
import type { Fault } from '../../src/simulator/faults.ts'
import { type Fleet, startFleet } from '../../src/simulator/fleet.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { addSite, claimNewDevices } from '../support/fleets/devices.ts'
import { startTestServer, type TestServer } from '../support/servers/server.ts'
import { WITHIN_MS, waitUntil } from '../support/wait-until.ts'
import { quickTicks } from '../support/servers/quick-ticks.ts'

let server: TestServer
let fleet: Fleet
let openGateway: (port: number) => Promise<Gateway>
let gateway: Gateway
let siteId: string
const closers: (() => Promise<unknown>)[] = []
const ap = newDevice('EAP101', 'ap')
const aSwitch = newDevice('ECS4150', 'switch')
const member = { mac: aSwitch.mac, serial: 'M', model: 'ECS4150' }
const chassis: PlannedDevice = {
  ...newDevice('ECS4150', 'switch'),
  members: [member, { ...member, mac: randomMac() }],
}

function newDevice(model: string, type: 'ap' | 'switch'): PlannedDevice {
  const mac = randomMac()
  return { mac, serial: `S${mac}`, model, type, firmware: '1.0.0' }
}

function randomMac(): string {
  return `02${randomBytes(5).toString('hex')}`
}

beforeAll(async () => {
  server = await startTestServer()
  closers.push(() => server.close())
  // The server does this at each start; it creates the folders for uploads.
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  siteId = await addSite(server)
  const ca = await makeCa()
  const tls = await issueGatewayTls(ca, ['127.0.0.1'])
  const options = { nodeId: randomUUID(), limits: quickTicks }
  openGateway = (port) => {
    const protocols = createProtocols({
      ucentral: { host: '127.0.0.1', port, tls },
      edge: { host: '127.0.0.1', port: 0, tls, dataDir: server.dataDir },
    })
    return startGateway(server.ctx, { ...options, protocols })
  }
  gateway = await openGateway(0)
  closers.push(() => gateway.stop())
  const devices = [ap, aSwitch, chassis]
  for (const { mac, model, type } of devices) await claimNewDevices(server, 1, { mac, model, type, siteId })
  fleet = await startFleet({
    gateway: { host: '127.0.0.1', port: gateway.portOf('ucentral') },
    ca,
    devices,
    log: server.ctx.log,
    pace: { bootMs: 2000, flashMs: 3000, timeScale: 0.01 },
  })
  closers.push(() => fleet.stop())
  for (const { mac } of devices) await untilStats(mac, { status: 'connected', version: '1.0.0' })
})

afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

/** Waits until the API reports these stats of the device. */
async function untilStats(mac: string, expected: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  return waitUntil(`${mac} ${JSON.stringify(expected)}`, async () => {
    const { body } = await server.call('GET', `/sites/${siteId}/stats/devices/${deviceIdOf(mac)}`)
    return Object.entries(expected).every(([key, value]) => body[key] === value) ? body : null
  })
}

async function upload(query: Readonly<Record<string, string>>, image: Buffer): Promise<string> {
  const path = `${server.url}/api/v1/orgs/${server.org.orgId}/firmware?${new URLSearchParams(query).toString()}`
  const answer = await fetch(path, {
    method: 'POST',
    headers: { authorization: `Token ${server.org.token}` },
    body: new Uint8Array(image),
  })
  expect(answer.status).toBe(200)
  const { id } = (await answer.json()) as { id: string }
  return id
}

interface CommandRow {
  readonly state: string
  readonly outcome: unknown
}

/** Queues the command that a rollout would queue, and resolves with its final state and outcome. */
async function upgrade(mac: string, imageId: string, version: string): Promise<CommandRow> {
  return untilAnswered(await queueUpgrade(mac, imageId, version))
}

/** Resolves with the final state of a command and its outcome. */
function untilAnswered(read: () => Promise<CommandRow>): Promise<CommandRow> {
  return waitUntil('the command ends', async () => {
    const row = await read()
    // A device that is soon back may have its new connection recorded before its answer.
    return ['queued', 'sent', 'unknown'].includes(row.state) ? null : row
  })
}

/** @returns A function that reads the current state of the command. */
async function queueUpgrade(mac: string, imageId: string, version: string): Promise<() => Promise<CommandRow>> {
  const id = randomUUID()
  const createdAt = new Date()
  const command = {
    id,
    deviceId: deviceIdOf(mac),
    siteId: null,
    siteUpgradeId: randomUUID(),
    kind: 'upgrade' as const,
    attempt: 1,
    params: { image_id: imageId, version },
    createdAt,
    expiresAt: new Date(createdAt.getTime() + 60_000),
  }
  await inTx(server.ctx, (tx) => insertCommands(tx, systemScope('rollout', server.org.orgId), [command]))
  const select = server.ctx.db.selectFrom('deviceCommand').select(['state', 'outcome']).where('id', '=', id)
  return () => select.executeTakeFirstOrThrow()
}

/** Returns the uptime in seconds, as the device has reported it. */
async function uptimeOf(mac: string): Promise<number | null> {
  const status = server.ctx.db.selectFrom('deviceStatus').select('load').where('deviceId', '=', deviceIdOf(mac))
  const uptime = (await status.executeTakeFirstOrThrow()).load?.['uptime_s']
  return typeof uptime === 'number' ? uptime : null
}

async function restartsOf(mac: string): Promise<number> {
  const events = server.ctx.db.selectFrom('deviceEvent').select('id').where('deviceId', '=', deviceIdOf(mac))
  return (await events.where('type', 'like', '%_RESTARTED').execute()).length
}

describe('with the real gateway', () => {
  it('upgrades an access point and a switch to an image with a header', async () => {
    const image = Buffer.concat([Buffer.from(imageHeader(['EAP101', 'ECS4150'], '2.0.0')), randomBytes(200_000)])
    const imageId = await upload({ version: '2.0.0', models: 'EAP101,ECS4150' }, image)
    const ended = await Promise.all([ap, aSwitch, chassis].map(({ mac }) => upgrade(mac, imageId, '2.0.0')))
    expect(ended.map(({ state }) => state)).toEqual(['done', 'done', 'done'])
    for (const { mac } of [ap, aSwitch, chassis]) await untilStats(mac, { status: 'connected', version: '2.0.0' })
    for (const device of fleet.devices.values()) {
      expect(device.counts).toEqual({ boots: 1, flashes: 1, downloads: 1, partBoots: 0 })
    }
  })

  it('upgrades to any image, with the version from the catalog', async () => {
    const version = 'OpenWrt 21.02 / TIP-v2.5.0'
    const imageId = await upload({ version, models: 'EAP101' }, randomBytes(1000))
    expect(await upgrade(ap.mac, imageId, version)).toMatchObject({ state: 'done' })
    await untilStats(ap.mac, { status: 'connected', version })
  })

  it('receives the answer of an access point whose connection broke meanwhile', async () => {
    const device = fleet.devices.get(ap.mac)
    if (device === undefined) throw new Error('no device')
    // The fault delays the answer after the download, and a large download takes long.
    device.setFaults(new Set(['slow']))
    const isBusy = (): boolean => device.activity === 'downloading' || device.activity === 'triggering'
    for (let attempt = 0, isAnswered = false; !isAnswered; attempt += 1) {
      const version = `4.0.${attempt}`
      const imageId = await upload({ version, models: 'EAP101' }, randomBytes(1000 + attempt * 2_000_000))
      const command = await queueUpgrade(ap.mac, imageId, version)
      await fleet.untilAll((one) => one !== device || isBusy(), WITHIN_MS)
      const { connections } = device
      device.loseConnection()
      await fleet.untilAll((one) => one !== device || one.connections > connections, WITHIN_MS)
      // Otherwise the computer was too busy: without a connection the answer was lost.
      isAnswered = isBusy()
      if (isAnswered)
        expect(await untilAnswered(command)).toMatchObject({ state: 'done', outcome: { lost: 'connection_lost' } })
      await untilStats(ap.mac, { status: 'connected', version })
    }
    device.setFaults(new Set())
  })

  it('does not count an access point as rebooted if its watchdog has restarted its client', async () => {
    await waitUntil('its uptime', async () => (await uptimeOf(ap.mac)) !== null)
    const before = await restartsOf(ap.mac)
    const device = fleet.devices.get(ap.mac)
    const port = gateway.portOf('ucentral')
    await gateway.stop()
    await fleet.untilAll(({ mac, state }) => mac !== ap.mac || state.connectReason === 'recovery', WITHIN_MS)
    gateway = await openGateway(port)
    const sinceBootS = (): number => (Date.now() - (device?.state.bootedAtMs ?? 0)) / 1000
    await waitUntil('a report', async () => ((await uptimeOf(ap.mac)) ?? 0) > sinceBootS() - 2)
    expect(await restartsOf(ap.mac)).toBe(before)
  })

  it('reports the rejection of an image for another model', async () => {
    const imageId = await upload({ version: '3.0.0', models: 'EAP101' }, Buffer.from(imageHeader(['WF188'], '3.0.0')))
    expect(await upgrade(ap.mac, imageId, '3.0.0')).toMatchObject({ state: 'rejected', outcome: { code: '2' } })
  })

  it('starts and stops the locate LED of an access point', async () => {
    const path = `/installer/orgs/${server.org.orgId}/devices/${ap.mac}`
    for (const kind of ['locate', 'unlocate'] as const) {
      expect((await server.call('POST', `${path}/${kind}`)).status).toBe(200)
      const select = server.ctx.db
        .selectFrom('deviceCommand')
        .select(['state', 'outcome'])
        .where('deviceId', '=', deviceIdOf(ap.mac))
        .where('kind', '=', kind)
      const ended = async () => {
        const row = await select.executeTakeFirstOrThrow()
        return row.state === 'queued' || row.state === 'sent' ? null : row
      }
      expect(await waitUntil(kind, ended)).toEqual({ state: 'done', outcome: { text: 'Success' } })
    }
  })

  it('restarts a device, and a single member of a Virtual Chassis', async () => {
    const boots = fleet.devices.get(aSwitch.mac)?.counts.boots ?? 0
    const restarted = await server.call('POST', `/sites/${siteId}/devices/${deviceIdOf(aSwitch.mac)}/restart`)
    expect(restarted.status).toBe(200)
    await fleet.untilAll(({ mac, counts }) => mac !== aSwitch.mac || counts.boots === boots + 1, WITHIN_MS)
    const path = `/sites/${siteId}/devices/${deviceIdOf(chassis.mac)}/restart`
    expect((await server.call('POST', path, { body: { member: 1 } })).status).toBe(200)
    await fleet.untilAll(({ mac, counts }) => mac !== chassis.mac || counts.partBoots === 1, WITHIN_MS)
    await untilStats(aSwitch.mac, { status: 'connected' })
  })
})

describe('scripts', () => {
  const call = (mac: string, what: string, body: unknown) =>
    server.call('POST', `/sites/${siteId}/devices/${deviceIdOf(mac)}/${what}`, { body })

  /** Sends the command through the interface, and resolves with its end as the interface shows it. */
  async function run(mac: string, what: 'ping' | 'support', body: unknown): Promise<AnyJson> {
    const { status, body: accepted } = await call(mac, what, body)
    expect(status, JSON.stringify(accepted)).toBe(200)
    const path = `/sites/${siteId}/devices/${deviceIdOf(mac)}/commands/${accepted.session}`
    return waitUntil('the command ends', async () => {
      const { body: command } = await server.call('GET', path)
      return command.status === 'queued' || command.status === 'sent' ? null : command
    })
  }

  function setFaults(mac: string, faults: readonly Fault[]): void {
    const device = fleet.devices.get(mac)
    if (device === undefined) throw new Error('no device')
    device.setFaults(new Set(faults))
    onTestFinished(() => device.setFaults(new Set()))
  }

  it.each([ap, aSwitch])('of pings show what the $type says', async ({ mac }) => {
    const answered = await run(mac, 'ping', { host: 'gw.example.net', count: 3 })
    expect(answered).toMatchObject({ status: 'done', params: { host: 'gw.example.net', count: 3, size: 56 } })
    expect(answered.output).toContain('3 packets transmitted, 3 packets received')
    const silent = await run(mac, 'ping', { host: '192.0.2.9', count: 2, size: 1400 })
    expect(silent.output).toContain('2 packets transmitted, 0 packets received, 100% packet loss')
    expect((await run(mac, 'ping', { host: 'gone.invalid' })).output).toContain("bad address 'gone.invalid'")
    expect((await run(mac, 'ping', { host: 'a', size: 65_535 })).output).toContain('too large')
  })

  it('are refused by an access point that runs signed ones only, and by a busy switch', async () => {
    setFaults(ap.mac, ['refuse'])
    setFaults(aSwitch.mac, ['refuse'])
    const [signed, busy] = [await run(ap.mac, 'ping', { host: 'a' }), await run(aSwitch.mac, 'ping', { host: 'a' })]
    expect(signed).toMatchObject({ status: 'rejected', reason: 'invalid signature' })
    expect(busy).toMatchObject({ status: 'rejected', reason: 'failed to start execution' })
  })

  it.each([ap, aSwitch])('collect the support files of the $type, which admins read', async ({ mac }) => {
    const { id, status } = await run(mac, 'support', {})
    expect(status).toBe('done')
    const path = `/sites/${siteId}/devices/${deviceIdOf(mac)}/support/${id}`
    const { body: file } = await waitUntil('the upload', async () => {
      const answer = await server.call('GET', path)
      return answer.status === 200 ? answer : null
    })
    const read = await fetch(file.url)
    const text = gunzipSync(Buffer.from(await read.arrayBuffer())).toString()
    expect(text).toContain(`diagnostics of ${mac}`)
  })

  it("collect nothing if the device can't, and no file appears if its upload fails", async () => {
    setFaults(ap.mac, ['refuse'])
    const nothing = await run(ap.mac, 'support', {})
    expect(nothing).toMatchObject({ status: 'rejected', reason: 'script did not generate any output' })
    setFaults(aSwitch.mac, ['fail_upload'])
    const { id, status } = await run(aSwitch.mac, 'support', {})
    expect(status).toBe('done')
    const path = `/sites/${siteId}/devices/${deviceIdOf(aSwitch.mac)}/support/${id}`
    expect((await server.call('GET', path)).status).toBe(404)
  })
})
