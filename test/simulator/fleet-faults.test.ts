import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { aSwitch, ap, createFleetHarness, image, pace, upgradeTo } from './fleet-harness.ts'
import { WITHIN_MS } from '../support/wait-until.ts'
import { messagesOf, newest } from './peer.ts'

const harness = createFleetHarness()

describe('faults', () => {
  it('refuse', async () => {
    await harness.connect(ap, 'refuse')
    expect(await harness.peer.call('upgrade', upgradeTo('http://127.0.0.1:1/fw'))).toBe('2 Invalid signature')
    expect(await harness.peer.call('reboot')).toBe('1 Reboot refused')
  })

  it('fail_download, until the fault is removed', async () => {
    const { device } = await harness.connect(ap, 'fail_download')
    const served = await harness.serve((response) => response.end(image))
    expect(await harness.peer.call('upgrade', upgradeTo(`${served.url}/fw`))).toBe(
      '2 Download failed, curl_rc 18, http_code 200',
    )
    device.setFaults(new Set())
    expect(await harness.peer.call('upgrade', upgradeTo(`${served.url}/fw`))).toBe('0 Triggering FW upgrade')
  })

  it('never_return', async () => {
    const { fleet, device } = await harness.connect(aSwitch, 'never_return')
    expect(await harness.peer.call('reboot')).toBe('0 Rebooting')
    await fleet.untilAll((one) => one.activity === 'lost' && !one.connected, WITHIN_MS)
    await harness.peer.until(() => newest(harness.peer.sessions).closed)
    expect(device.connections).toBe(1)
  })

  it('old_version', async () => {
    await harness.connect(ap, 'old_version')
    const served = await harness.serve((response) => response.end(image))
    await harness.peer.call('upgrade', upgradeTo(`${served.url}/fw`))
    await harness.untilSession(2)
    expect(messagesOf(newest(harness.peer.sessions), 'connect')[0]).toMatchObject({
      firmware: '1.0.0',
      reason: 'upgradefailed',
    })
  })

  it('flap', async () => {
    await harness.connect(ap, 'flap')
    await harness.untilSession(4)
    expect(harness.peer.sessions.map((session) => messagesOf(session, 'connect')[0]?.['reason'])).toEqual([
      'coldboot',
      'socket',
      'socket',
      'socket',
    ])
  })

  it('slow: a limited bandwidth with visible progress', async () => {
    const { fleet, device } = await harness.connect(aSwitch, 'slow')
    const served = await harness.serve((response) =>
      response.writeHead(200, { 'content-length': image.length }).end(image),
    )
    await harness.peer.call('upgrade', upgradeTo(`${served.url}/fw`))
    await fleet.untilAll(({ state }) => state.activity.kind === 'installing', WITHIN_MS)
    const percentages = messagesOf(newest(harness.peer.sessions), 'event').map(
      (event) => /"percentage":(\d+)/.exec(JSON.stringify(event))?.[1],
    )
    expect(new Set(percentages).size).toBeGreaterThan(2)
    expect(device.profile.timing.bootMs).toBe(10 * pace.bootMs * pace.timeScale)
  })
})

describe('a state folder', () => {
  it('preserves version, uptime and counts of devices', async () => {
    const stateDir = join(harness.folder, 'state')
    const first = await harness.start(ap, { stateDir })
    await harness.untilSession(1)
    const served = await harness.serve((response) => response.end(image))
    await harness.peer.call('upgrade', upgradeTo(`${served.url}/fw`))
    await harness.untilSession(2)
    const { bootedAtMs, counts } = first.device.state
    await first.fleet.stop()
    const second = await harness.start(ap, { stateDir })
    await harness.untilSession(3)
    expect(messagesOf(newest(harness.peer.sessions), 'connect')[0]).toMatchObject({
      firmware: '2.0.0',
      reason: 'socket',
    })
    expect(second.device.state).toMatchObject({ bootedAtMs, counts })
  })

  it('completes a flash once if the simulator ended in the middle of it', async () => {
    const stateDir = join(harness.folder, 'state')
    const first = await harness.start(ap, { stateDir })
    await harness.untilSession(1)
    const served = await harness.serve((response) => response.end(image))
    await harness.peer.call('upgrade', upgradeTo(`${served.url}/fw`))
    await first.fleet.untilAll((device) => device.activity === 'installing', WITHIN_MS)
    await first.fleet.stop()
    const second = await harness.start(ap, { stateDir })
    await harness.untilSession(2)
    expect(messagesOf(newest(harness.peer.sessions), 'connect')[0]).toMatchObject({
      firmware: '2.0.0',
      reason: 'upgrade',
    })
    expect(second.device.counts).toMatchObject({ downloads: 1, flashes: 1, boots: 1 })
  })
})
