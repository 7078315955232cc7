import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type DeviceCa, issueGatewayTls, makeCa } from '../../src/gateway/device-ca.ts'
import { createLog } from '../../src/platform/log.ts'
import type { Fault, FaultPlan } from '../../src/simulator/faults.ts'
import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'
import { type Fleet, startFleet } from '../../src/simulator/fleet.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import type { JournalEntry } from '../../src/simulator/journal.ts'
import type { Pace } from '../../src/simulator/pace.ts'
import type { SimulatedDevice } from '../../src/simulator/simulated-device.ts'
import { type FileServer, newest, type Peer, messagesOf, serveFiles, serveFilesOverTls, startPeer } from './peer.ts'

const MAC = '02000000a001'
const ap: PlannedDevice = { mac: MAC, serial: 'S1', model: 'EAP101', type: 'ap', firmware: '1.0.0' }
const aSwitch: PlannedDevice = { ...ap, model: 'ECS4150', type: 'switch' }
const member = { member: 0, mac: MAC, serial: 'M0', model: 'ECS4150' }
const pace = { bootMs: 2000, flashMs: 3000, timeScale: 0.01 }
const image = Buffer.concat([Buffer.from(imageHeader(['EAP101', 'ECS4150'], '2.0.0')), Buffer.alloc(300_000, 7)])
const TIMEOUT_MS = 15_000

let ca: DeviceCa
let folder: string
let peer: Peer
const closers: (() => Promise<unknown>)[] = []

beforeAll(async () => void (ca = await makeCa()))

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'simulator-'))
  peer = await startPeer(ca)
})

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
  await peer.stop()
  await rm(folder, { recursive: true })
})

interface Started {
  readonly fleet: Fleet
  readonly device: SimulatedDevice
}

async function start(
  planned: PlannedDevice,
  options: { faults?: FaultPlan; stateDir?: string; port?: number; pace?: Partial<Pace> } = {},
): Promise<Started> {
  const { port = peer.port, ...rest } = options
  const fleet = await startFleet({
    gateway: { host: '127.0.0.1', port },
    ca,
    devices: [planned],
    log: createLog('silent'),
    pace,
    report: join(folder, 'report.jsonl'),
    ...rest,
  })
  closers.push(() => fleet.stop())
  const device = fleet.devices.get(planned.mac)
  if (device === undefined) throw new Error('no device')
  return { fleet, device }
}

/** Starts a device and waits until it is connected. */
async function connect(planned: PlannedDevice, ...faults: readonly Fault[]): Promise<Started> {
  const plan = Object.fromEntries(faults.map((fault) => [fault, { macs: [planned.mac] }]))
  const started = await start(planned, { faults: plan })
  await untilSession(1)
  return started
}

/** Waits until the n-th session has begun. */
function untilSession(sessions: number): Promise<void> {
  return peer.until(() => {
    const session = peer.sessions[sessions - 1]
    return session !== undefined && messagesOf(session, 'connect').length > 0
  })
}

async function files(answer: (response: ServerResponse) => void): Promise<FileServer> {
  const served = await serveFiles(answer)
  closers.push(() => served.stop())
  return served
}

function upgradeTo(uri: string): Readonly<Record<string, unknown>> {
  return { when: 0, uri, keep_redirector: true, keep_config: true }
}

function report(): readonly JournalEntry[] {
  const lines = readFileSync(join(folder, 'report.jsonl'), 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as JournalEntry)
}

describe('a simulated device', () => {
  it('presents its certificate, connects, and sends nothing more until it is asked to', async () => {
    await connect(ap)
    const session = newest(peer.sessions)
    expect(session.commonName).toBe(MAC)
    expect(await peer.call('ping')).toBe('0 ')
    expect(session.frames.map((frame) => frame.kind === 'call' && frame.method)).toEqual(['connect', false])
    expect(messagesOf(session, 'connect')[0]).toMatchObject({
      serial: MAC,
      firmware: '1.0.0',
      reason: 'coldboot',
      capabilities: { compatible: 'EAP101', platform: 'ap' },
    })
    expect(await peer.call('telemetry', { interval: 60, types: ['state'] })).toBe('0 Success')
    await peer.until(() => messagesOf(session, 'telemetry').length > 0)
    expect(messagesOf(session, 'telemetry')[0]).toMatchObject({
      serial: MAC,
      data: { state: [[expect.any(Number), { serial: MAC, state: { unit: { uptime: 0, load: expect.any(Array) } } }]] },
    })
  })

  it('reports without a request if it is configured', async () => {
    await start(ap, { pace: { ...pace, stateIntervalMs: 20 } })
    await untilSession(1)
    const session = newest(peer.sessions)
    await peer.until(() => messagesOf(session, 'state').length > 2 && messagesOf(session, 'healthcheck').length > 2)
  })

  it('as a switch gives no connect reason, but reports its boot once', async () => {
    const { device } = await connect(aSwitch)
    await peer.until(() => messagesOf(newest(peer.sessions), 'event').length > 0)
    const [first] = peer.sessions
    if (first === undefined) throw new Error('no session')
    expect(messagesOf(first, 'connect')[0]).not.toHaveProperty('reason')
    const atS = Math.floor(device.state.bootedAtMs / 1000)
    expect(messagesOf(first, 'event')).toMatchObject([{ data: { event: [atS, { type: 'device.powerloss' }] } }])
    device.loseConnection()
    await untilSession(2)
    expect(await peer.call('ping')).toBe('0 ')
    expect(messagesOf(newest(peer.sessions), 'event')).toEqual([])
  })

  it('as an access point gives up on a gateway that does not answer, until its watchdog restarts it', async () => {
    peer.keepSilent()
    const { fleet, device } = await start(ap, { pace: { ...pace, answerWaitMs: 100 } })
    await peer.until(() => peer.silenced.length > 0)
    await fleet.untilAll(({ state }) => state.connectReason === 'recovery', TIMEOUT_MS)
    // The watchdog waits for 3 s here; retries would have happened after 0.1, 0.3, 0.6 s and so on.
    expect(peer.silenced).toEqual([MAC])
    peer.answer()
    await fleet.untilAll(({ connections }) => connections === 1, TIMEOUT_MS)
    await untilSession(1)
    expect(messagesOf(newest(peer.sessions), 'connect')[0]).toMatchObject({ reason: 'recovery' })
    expect(device.counts.boots).toBe(0)
  })

  it('accepts a gateway that does not confirm the subprotocol', async () => {
    const silent = await startPeer(ca, false)
    closers.push(() => silent.stop())
    const { fleet } = await start(ap, { port: silent.port })
    await fleet.untilAll((device) => device.connections === 1, TIMEOUT_MS)
  })

  it('does not trust a gateway of another CA', async () => {
    const other = await startPeer(await makeCa())
    closers.push(() => other.stop())
    let attempts = 0
    const fleet = await startFleet({
      gateway: { host: '127.0.0.1', port: other.port },
      ca,
      devices: [aSwitch],
      log: createLog('silent'),
      pace,
      onChange: (_device, change) => void (attempts += Number(change === 'disconnected')),
    })
    closers.push(() => fleet.stop())
    await fleet.untilAll(() => attempts >= 2, TIMEOUT_MS)
    expect(other.sessions).toEqual([])
  })

  it('upgrades as an access point: download, reply, disconnect, reconnect with the new version', async () => {
    const { device } = await connect(ap)
    const served = await files((response) => response.end(image))
    expect(await peer.call('upgrade', upgradeTo(`${served.url}/fw`))).toBe('0 Triggering FW upgrade')
    await untilSession(2)
    expect(messagesOf(newest(peer.sessions), 'connect')[0]).toMatchObject({ firmware: '2.0.0', reason: 'upgrade' })
    expect(peer.sessions).toHaveLength(2)
    expect(device.counts).toEqual({ boots: 1, flashes: 1, downloads: 1, partBoots: 0 })
    expect(report().map((entry) => entry.change)).toEqual(['made', 'download', 'install', 'flash', 'down', 'boot'])
    expect(report().at(-1)?.state).toMatchObject({ firmware: '2.0.0', counts: { boots: 1, flashes: 1 } })
  })

  it('is orphaned by an upgrade that does not keep its certificate and its gateway, even after restarts', async () => {
    const stateDir = join(folder, 'state')
    const { fleet } = await start(ap, { stateDir })
    await untilSession(1)
    const served = await files((response) => response.end(image))
    expect(await peer.call('upgrade', { uri: `${served.url}/fw` })).toBe('0 Triggering FW upgrade')
    await fleet.untilAll(({ counts, state }) => counts.boots === 1 && state.activity.kind === 'idle', TIMEOUT_MS)
    expect(report().map((entry) => entry.change)).toContain('orphaned')
    await fleet.stop()
    const again = await start(ap, { stateDir })
    const other = await start({ ...aSwitch, mac: '02000000a002' })
    await untilSession(2)
    expect(other.device.connections).toBe(1)
    expect([again.device.state.orphaned, again.device.connections]).toEqual([true, 0])
  })

  it('verifies a download by the CA of its gateway only if the call requires it, and then by no other CA', async () => {
    await connect(ap)
    const served = await serveFilesOverTls(await issueGatewayTls(ca, ['127.0.0.1']), image)
    closers.push(() => served.stop())
    const call = upgradeTo(`${served.url}/fw`)
    expect(await peer.call('upgrade', call)).toMatch(/^2 Download failed, curl_rc 60/)
    const other = await serveFilesOverTls(await issueGatewayTls(await makeCa(), ['127.0.0.1']), image)
    closers.push(() => other.stop())
    const local = { 'use-local-certificates': true }
    expect(await peer.call('upgrade', { ...upgradeTo(`${other.url}/fw`), ...local })).toMatch(/^2 Download failed/)
    expect(await peer.call('upgrade', { ...call, ...local })).toBe('0 Triggering FW upgrade')
  })

  it('upgrades as a switch: reply, events, then its own reboot', async () => {
    await connect(aSwitch)
    const served = await files((response) => response.end(image))
    expect(await peer.call('upgrade', upgradeTo(`${served.url}/fw`))).toBe('0 upgrade requested successfully')
    await untilSession(2)
    const [first] = peer.sessions
    if (first === undefined) throw new Error('no session')
    const events = messagesOf(first, 'event').map((params) => JSON.stringify(params))
    const operations = events.flatMap((event) => /"operation":"(\w+)"/.exec(event)?.[1] ?? [])
    expect([...new Set(operations)]).toEqual(['download', 'install', 'success'])
    expect(operations.at(-1)).toBe('success')
    expect(messagesOf(newest(peer.sessions), 'connect')[0]).toMatchObject({ firmware: '2.0.0' })
    await peer.until(() => messagesOf(newest(peer.sessions), 'event').length > 0)
    expect(JSON.stringify(messagesOf(newest(peer.sessions), 'event')[0])).toContain('device.reboot')
  })

  it('continues its upgrade when the gateway is gone, and reports the result to no gateway', async () => {
    const { fleet } = await connect(ap)
    let finish = (): void => {}
    const served = await files((response) => {
      response.writeHead(200, { 'content-length': image.length }).write(image.subarray(0, 100_000))
      finish = () => response.end(image.subarray(100_000))
    })
    peer.send('upgrade', upgradeTo(`${served.url}/fw`))
    await fleet.untilAll(({ state }) => state.activity.kind === 'downloading' && state.activity.percent > 0, TIMEOUT_MS)
    peer.shut()
    finish()
    await fleet.untilAll((device) => device.counts.boots === 1, TIMEOUT_MS)
    peer.open()
    await untilSession(2)
    expect(messagesOf(newest(peer.sessions), 'connect')[0]).toMatchObject({ firmware: '2.0.0', reason: 'upgrade' })
    expect(peer.sessions.flatMap((session) => session.frames).filter((frame) => frame.kind === 'reply')).toEqual([])
  })

  it('reports what is wrong with a download', async () => {
    await connect(ap)
    const missing = await files((response) => response.writeHead(404).end())
    expect(await peer.call('upgrade', upgradeTo(`${missing.url}/fw`))).toBe(
      '2 Download failed, curl_rc 22, http_code 404',
    )
    const cut = await files((response) => {
      response.writeHead(200, { 'content-length': 5000 }).write(image.subarray(0, 100), () => response.destroy())
    })
    expect(await peer.call('upgrade', upgradeTo(`${cut.url}/fw`))).toMatch(/^2 Download failed, curl_rc 18/)
    expect(await peer.call('upgrade', upgradeTo('ftp//nowhere'))).toMatch(/^2 Download failed, curl_rc 3/)
    const other = await files((response) => response.end(imageHeader(['WF188'], '9.9.9')))
    expect(await peer.call('upgrade', upgradeTo(`${other.url}/fw`))).toBe('2 Firmware image validation failed')
    expect(peer.sessions).toHaveLength(1)
  })

  it('reconnects after a reboot with its uptime at zero, and after a lost connection with the old uptime', async () => {
    const { device } = await connect(ap)
    device.loseConnection()
    await untilSession(2)
    expect(messagesOf(newest(peer.sessions), 'connect')[0]).toMatchObject({ reason: 'socket' })
    expect(await peer.call('reboot', { when: 0 })).toBe('0 Rebooting')
    await untilSession(3)
    expect(messagesOf(newest(peer.sessions), 'connect')[0]).toMatchObject({ reason: 'reboot' })
    expect(device.counts.boots).toBe(1)
  })

  it('restarts a member of a Virtual Chassis', async () => {
    const { device } = await connect({ ...aSwitch, members: [member, { ...member, member: 1, mac: '02000000a002' }] })
    const connected = messagesOf(newest(peer.sessions), 'connect')[0]
    expect(connected).toMatchObject({
      capabilities: {
        'x-signalbox': { protocol: 1, methods: ['reboot'], members: [{ member: 0 }, { member: 1, firmware: '1.0.0' }] },
      },
    })
    expect(await peer.call('x-signalbox.reboot', { member: 1 })).toBe('0 Rebooting')
    expect(device.counts).toMatchObject({ boots: 0, partBoots: 1 })
  })

  it('drops garbage and stays connected', async () => {
    const { device } = await connect(ap)
    const { socket } = newest(peer.sessions)
    for (const text of ['', '{', '[]', '{"id":5,"result":{}}', '{"method":"reboot"}', '{"method":"ping","id":"x"}'])
      socket.send(text)
    socket.send(Buffer.from([0xff, 0xfe]))
    expect(await peer.call('ping')).toBe('0 ')
    expect(device.connections).toBe(1)
  })

  it('loses its connection over a frame that exceeds its limit', async () => {
    await connect(ap)
    newest(peer.sessions).socket.send('x'.repeat(40 * 1024))
    await untilSession(2)
    expect(messagesOf(newest(peer.sessions), 'connect')[0]).toMatchObject({ reason: 'socket' })
  })
})

describe('faults', () => {
  it('refuse', async () => {
    await connect(ap, 'refuse')
    expect(await peer.call('upgrade', upgradeTo('http://127.0.0.1:1/fw'))).toBe('2 Invalid signature')
    expect(await peer.call('reboot')).toBe('1 Reboot refused')
  })

  it('fail_download, until the fault is removed', async () => {
    const { device } = await connect(ap, 'fail_download')
    const served = await files((response) => response.end(image))
    expect(await peer.call('upgrade', upgradeTo(`${served.url}/fw`))).toBe(
      '2 Download failed, curl_rc 18, http_code 200',
    )
    device.setFaults(new Set())
    expect(await peer.call('upgrade', upgradeTo(`${served.url}/fw`))).toBe('0 Triggering FW upgrade')
  })

  it('never_return', async () => {
    const { fleet, device } = await connect(aSwitch, 'never_return')
    expect(await peer.call('reboot')).toBe('0 Rebooting')
    await fleet.untilAll((one) => one.activity === 'lost' && !one.connected, TIMEOUT_MS)
    await peer.until(() => newest(peer.sessions).closed)
    expect(device.connections).toBe(1)
  })

  it('old_version', async () => {
    await connect(ap, 'old_version')
    const served = await files((response) => response.end(image))
    await peer.call('upgrade', upgradeTo(`${served.url}/fw`))
    await untilSession(2)
    expect(messagesOf(newest(peer.sessions), 'connect')[0]).toMatchObject({
      firmware: '1.0.0',
      reason: 'upgradefailed',
    })
  })

  it('flap', async () => {
    await connect(ap, 'flap')
    await untilSession(4)
    expect(peer.sessions.map((session) => messagesOf(session, 'connect')[0]?.['reason'])).toEqual([
      'coldboot',
      'socket',
      'socket',
      'socket',
    ])
  })

  it('slow: a limited bandwidth with visible progress', async () => {
    const { fleet, device } = await connect(aSwitch, 'slow')
    const served = await files((response) => response.writeHead(200, { 'content-length': image.length }).end(image))
    await peer.call('upgrade', upgradeTo(`${served.url}/fw`))
    await fleet.untilAll(({ state }) => state.activity.kind === 'installing', TIMEOUT_MS)
    const percentages = messagesOf(newest(peer.sessions), 'event').map(
      (event) => /"percentage":(\d+)/.exec(JSON.stringify(event))?.[1],
    )
    expect(new Set(percentages).size).toBeGreaterThan(2)
    expect(device.profile.timing.bootMs).toBe(10 * pace.bootMs * pace.timeScale)
  })
})

describe('a state folder', () => {
  it('preserves version, uptime and counts of devices', async () => {
    const stateDir = join(folder, 'state')
    const first = await start(ap, { stateDir })
    await untilSession(1)
    const served = await files((response) => response.end(image))
    await peer.call('upgrade', upgradeTo(`${served.url}/fw`))
    await untilSession(2)
    const { bootedAtMs, counts } = first.device.state
    await first.fleet.stop()
    const second = await start(ap, { stateDir })
    await untilSession(3)
    expect(messagesOf(newest(peer.sessions), 'connect')[0]).toMatchObject({ firmware: '2.0.0', reason: 'socket' })
    expect(second.device.state).toMatchObject({ bootedAtMs, counts })
  })

  it('completes a flash once if the simulator ended in the middle of it', async () => {
    const stateDir = join(folder, 'state')
    const first = await start(ap, { stateDir })
    await untilSession(1)
    const served = await files((response) => response.end(image))
    await peer.call('upgrade', upgradeTo(`${served.url}/fw`))
    await first.fleet.untilAll((device) => device.activity === 'installing', TIMEOUT_MS)
    await first.fleet.stop()
    const second = await start(ap, { stateDir })
    await untilSession(2)
    expect(messagesOf(newest(peer.sessions), 'connect')[0]).toMatchObject({ firmware: '2.0.0', reason: 'upgrade' })
    expect(second.device.counts).toMatchObject({ downloads: 1, flashes: 1, boots: 1 })
  })
})
