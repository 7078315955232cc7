import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { issueGatewayTls, makeCa } from '../../src/gateway/certificates/device-ca.ts'
import { createLog } from '../../src/platform/log.ts'
import { startFleet } from '../../src/simulator/fleet.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import { MAC, aSwitch, ap, createFleetHarness, image, member, pace, upgradeTo } from './fleet-harness.ts'
import { WITHIN_MS } from '../support/wait-until.ts'
import { messagesOf, newest, serveFilesOverTls, startPeer } from './peer.ts'

const harness = createFleetHarness()

describe('a simulated device', () => {
  it('presents its certificate, connects, and sends nothing more until it is asked to', async () => {
    await harness.connect(ap)
    const session = newest(harness.peer.sessions)
    expect(session.commonName).toBe(MAC)
    expect(await harness.peer.call('ping')).toBe('0 ')
    expect(session.frames.map((frame) => frame.kind === 'call' && frame.method)).toEqual(['connect', false])
    expect(messagesOf(session, 'connect')[0]).toMatchObject({
      serial: MAC,
      firmware: '1.0.0',
      reason: 'coldboot',
      capabilities: { compatible: 'EAP101', platform: 'ap' },
    })
    expect(await harness.peer.call('telemetry', { interval: 60, types: ['state'] })).toBe('0 Success')
    await harness.peer.until(() => messagesOf(session, 'telemetry').length > 0)
    expect(messagesOf(session, 'telemetry')[0]).toMatchObject({
      serial: MAC,
      data: { state: [[expect.any(Number), { serial: MAC, state: { unit: { uptime: 0, load: expect.any(Array) } } }]] },
    })
  })

  it('reports without a request if it is configured', async () => {
    await harness.start(ap, { pace: { ...pace, stateIntervalMs: 20 } })
    await harness.untilSession(1)
    const session = newest(harness.peer.sessions)
    await harness.peer.until(
      () => messagesOf(session, 'state').length > 2 && messagesOf(session, 'healthcheck').length > 2,
    )
  })

  it('as a switch gives no connect reason, but reports its boot once', async () => {
    const { device } = await harness.connect(aSwitch)
    await harness.peer.until(() => messagesOf(newest(harness.peer.sessions), 'event').length > 0)
    const [first] = harness.peer.sessions
    if (first === undefined) throw new Error('no session')
    expect(messagesOf(first, 'connect')[0]).not.toHaveProperty('reason')
    const atS = Math.floor(device.state.bootedAtMs / 1000)
    expect(messagesOf(first, 'event')).toMatchObject([{ data: { event: [atS, { type: 'device.powerloss' }] } }])
    device.loseConnection()
    await harness.untilSession(2)
    expect(await harness.peer.call('ping')).toBe('0 ')
    expect(messagesOf(newest(harness.peer.sessions), 'event')).toEqual([])
  })

  it('as an access point gives up on a gateway that does not answer, until its watchdog restarts it', async () => {
    harness.peer.keepSilent()
    const { fleet, device } = await harness.start(ap, { pace: { ...pace, answerWaitMs: 1000 } })
    await harness.peer.until(() => harness.peer.silenced.length > 0)
    await fleet.untilAll(({ state }) => state.connectReason === 'recovery', WITHIN_MS)
    // The watchdog waits for 3 s here; retries would have happened after 0.1, 0.3, 0.6 s and so on.
    expect(harness.peer.silenced).toEqual([MAC])
    harness.peer.answer()
    await fleet.untilAll(({ connections }) => connections === 1, WITHIN_MS)
    await harness.untilSession(1)
    expect(messagesOf(newest(harness.peer.sessions), 'connect')[0]).toMatchObject({ reason: 'recovery' })
    expect(device.counts.boots).toBe(0)
  })

  it('accepts a gateway that does not confirm the subprotocol', async () => {
    const silent = await startPeer(harness.ca, false)
    harness.onEnd(() => silent.stop())
    const { fleet } = await harness.start(ap, { port: silent.port })
    await fleet.untilAll((device) => device.connections === 1, WITHIN_MS)
  })

  it('does not trust a gateway of another CA', async () => {
    const other = await startPeer(await makeCa())
    harness.onEnd(() => other.stop())
    let attempts = 0
    const fleet = await startFleet({
      gateway: { host: '127.0.0.1', port: other.port },
      ca: harness.ca,
      devices: [aSwitch],
      log: createLog('silent'),
      pace,
      onChange: (_device, change) => void (attempts += Number(change === 'disconnected')),
    })
    harness.onEnd(() => fleet.stop())
    await fleet.untilAll(() => attempts >= 2, WITHIN_MS)
    expect(other.sessions).toEqual([])
  })

  it('upgrades as an access point: download, reply, disconnect, reconnect with the new version', async () => {
    const { device } = await harness.connect(ap)
    const served = await harness.serve((response) => response.end(image))
    expect(await harness.peer.call('upgrade', upgradeTo(`${served.url}/fw`))).toBe('0 Triggering FW upgrade')
    await harness.untilSession(2)
    expect(messagesOf(newest(harness.peer.sessions), 'connect')[0]).toMatchObject({
      firmware: '2.0.0',
      reason: 'upgrade',
    })
    expect(harness.peer.sessions).toHaveLength(2)
    expect(device.counts).toEqual({ boots: 1, flashes: 1, downloads: 1, partBoots: 0 })
    expect(harness.report().map((entry) => entry.change)).toEqual([
      'made',
      'download',
      'install',
      'flash',
      'down',
      'boot',
    ])
    expect(harness.report().at(-1)?.state).toMatchObject({ firmware: '2.0.0', counts: { boots: 1, flashes: 1 } })
  })

  it('is orphaned by an upgrade that does not keep its certificate and its gateway, even after restarts', async () => {
    const stateDir = join(harness.folder, 'state')
    const { fleet } = await harness.start(ap, { stateDir })
    await harness.untilSession(1)
    const served = await harness.serve((response) => response.end(image))
    expect(await harness.peer.call('upgrade', { uri: `${served.url}/fw` })).toBe('0 Triggering FW upgrade')
    await fleet.untilAll(({ counts, state }) => counts.boots === 1 && state.activity.kind === 'idle', WITHIN_MS)
    expect(harness.report().map((entry) => entry.change)).toContain('orphaned')
    await fleet.stop()
    const again = await harness.start(ap, { stateDir })
    const other = await harness.start({ ...aSwitch, mac: '02000000a002' })
    await harness.untilSession(2)
    expect(other.device.connections).toBe(1)
    expect([again.device.state.orphaned, again.device.connections]).toEqual([true, 0])
  })

  it('verifies a download by the CA of its gateway only if the call requires it, and then by no other CA', async () => {
    await harness.connect(ap)
    const served = await serveFilesOverTls(await issueGatewayTls(harness.ca, ['127.0.0.1']), image)
    harness.onEnd(() => served.stop())
    const call = upgradeTo(`${served.url}/fw`)
    expect(await harness.peer.call('upgrade', call)).toMatch(/^2 Download failed, curl_rc 60/)
    const other = await serveFilesOverTls(await issueGatewayTls(await makeCa(), ['127.0.0.1']), image)
    harness.onEnd(() => other.stop())
    const local = { 'use-local-certificates': true }
    expect(await harness.peer.call('upgrade', { ...upgradeTo(`${other.url}/fw`), ...local })).toMatch(
      /^2 Download failed/,
    )
    expect(await harness.peer.call('upgrade', { ...call, ...local })).toBe('0 Triggering FW upgrade')
  })

  it('upgrades as a switch: reply, events, then its own reboot', async () => {
    await harness.connect(aSwitch)
    const served = await harness.serve((response) => response.end(image))
    expect(await harness.peer.call('upgrade', upgradeTo(`${served.url}/fw`))).toBe('0 upgrade requested successfully')
    await harness.untilSession(2)
    const [first] = harness.peer.sessions
    if (first === undefined) throw new Error('no session')
    const events = messagesOf(first, 'event').map((params) => JSON.stringify(params))
    const operations = events.flatMap((event) => /"operation":"(\w+)"/.exec(event)?.[1] ?? [])
    expect([...new Set(operations)]).toEqual(['download', 'install', 'success'])
    expect(operations.at(-1)).toBe('success')
    expect(messagesOf(newest(harness.peer.sessions), 'connect')[0]).toMatchObject({ firmware: '2.0.0' })
    await harness.peer.until(() => messagesOf(newest(harness.peer.sessions), 'event').length > 0)
    expect(JSON.stringify(messagesOf(newest(harness.peer.sessions), 'event')[0])).toContain('device.reboot')
  })

  it('continues its upgrade when the gateway is gone, and reports the result to no gateway', async () => {
    const { fleet } = await harness.connect(ap)
    let finish = (): void => {}
    const served = await harness.serve((response) => {
      response.writeHead(200, { 'content-length': image.length }).write(image.subarray(0, 100_000))
      finish = () => response.end(image.subarray(100_000))
    })
    harness.peer.send('upgrade', upgradeTo(`${served.url}/fw`))
    await fleet.untilAll(({ state }) => state.activity.kind === 'downloading' && state.activity.percent > 0, WITHIN_MS)
    harness.peer.shut()
    finish()
    await fleet.untilAll((device) => device.counts.boots === 1, WITHIN_MS)
    harness.peer.open()
    await harness.untilSession(2)
    expect(messagesOf(newest(harness.peer.sessions), 'connect')[0]).toMatchObject({
      firmware: '2.0.0',
      reason: 'upgrade',
    })
    expect(
      harness.peer.sessions.flatMap((session) => session.frames).filter((frame) => frame.kind === 'reply'),
    ).toEqual([])
  })

  it('reports what is wrong with a download', async () => {
    await harness.connect(ap)
    const missing = await harness.serve((response) => response.writeHead(404).end())
    expect(await harness.peer.call('upgrade', upgradeTo(`${missing.url}/fw`))).toBe(
      '2 Download failed, curl_rc 22, http_code 404',
    )
    const cut = await harness.serve((response) => {
      response.writeHead(200, { 'content-length': 5000 }).write(image.subarray(0, 100), () => response.destroy())
    })
    expect(await harness.peer.call('upgrade', upgradeTo(`${cut.url}/fw`))).toMatch(/^2 Download failed, curl_rc 18/)
    expect(await harness.peer.call('upgrade', upgradeTo('ftp//nowhere'))).toMatch(/^2 Download failed, curl_rc 3/)
    const other = await harness.serve((response) => response.end(imageHeader(['WF188'], '9.9.9')))
    expect(await harness.peer.call('upgrade', upgradeTo(`${other.url}/fw`))).toBe('2 Firmware image validation failed')
    expect(harness.peer.sessions).toHaveLength(1)
  })

  it('reconnects after a reboot with its uptime at zero, and after a lost connection with the old uptime', async () => {
    const { device } = await harness.connect(ap)
    device.loseConnection()
    await harness.untilSession(2)
    expect(messagesOf(newest(harness.peer.sessions), 'connect')[0]).toMatchObject({ reason: 'socket' })
    expect(await harness.peer.call('reboot', { when: 0 })).toBe('0 Rebooting')
    await harness.untilSession(3)
    expect(messagesOf(newest(harness.peer.sessions), 'connect')[0]).toMatchObject({ reason: 'reboot' })
    expect(device.counts.boots).toBe(1)
  })

  it('restarts a member of a Virtual Chassis', async () => {
    const { device } = await harness.connect({
      ...aSwitch,
      members: [member, { ...member, member: 1, mac: '02000000a002' }],
    })
    const connected = messagesOf(newest(harness.peer.sessions), 'connect')[0]
    expect(connected).toMatchObject({
      capabilities: {
        'x-signalbox': { protocol: 1, methods: ['reboot'], members: [{ member: 0 }, { member: 1, firmware: '1.0.0' }] },
      },
    })
    expect(await harness.peer.call('x-signalbox.reboot', { member: 1 })).toBe('0 Rebooting')
    expect(device.counts).toMatchObject({ boots: 0, partBoots: 1 })
  })

  it('drops garbage and stays connected', async () => {
    const { device } = await harness.connect(ap)
    const { socket } = newest(harness.peer.sessions)
    for (const text of ['', '{', '[]', '{"id":5,"result":{}}', '{"method":"reboot"}', '{"method":"ping","id":"x"}'])
      socket.send(text)
    socket.send(Buffer.from([0xff, 0xfe]))
    expect(await harness.peer.call('ping')).toBe('0 ')
    expect(device.connections).toBe(1)
  })

  it('loses its connection over a frame that exceeds its limit', async () => {
    await harness.connect(ap)
    newest(harness.peer.sessions).socket.send('x'.repeat(40 * 1024))
    await harness.untilSession(2)
    expect(messagesOf(newest(harness.peer.sessions), 'connect')[0]).toMatchObject({ reason: 'socket' })
  })
})
