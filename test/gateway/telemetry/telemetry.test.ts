import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { systemScope } from '../../../src/access/scope.ts'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { deleteDevices } from '../../../src/devices/store.ts'
import { accessPoint, currentAccessPoint, olsSwitch } from '../../../src/gateway/ucentral/state/samples.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { waitUntil } from '../../support/wait-until.ts'
import {
  type GatewayHarness,
  type RunningGateway,
  type TestDevice,
  claimDevice,
  createGatewayHarness,
  newMac,
  openDevice,
} from '../harness.ts'
import { insertOrg } from '../../../src/orgs/store.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

async function connect(gateway: RunningGateway, mac = newMac(), answersTelemetry = true): Promise<TestDevice> {
  const device = await openDevice(gateway.port, harness.ca, { mac, answersTelemetry })
  device.hello()
  await device.untilTelemetryCall()
  return device
}

const kept = (mac: string) =>
  harness.ctx.db.selectFrom('deviceReport').selectAll().where('deviceId', '=', deviceIdOf(mac)).executeTakeFirst()
const summary = (mac: string) =>
  harness.ctx.db.selectFrom('deviceSummary').selectAll().where('deviceId', '=', deviceIdOf(mac)).executeTakeFirst()

/** Sends a state and waits until it is stored. */
async function report(device: TestDevice, uptime: number, state: object = {}): Promise<void> {
  device.send('state', { uuid: 1, state: { ...state, unit: { uptime } } })
  await waitUntil('the report', async () => (await kept(device.mac))?.report.unit.uptime_s === uptime)
}

test('a scan that a device sends by itself is part of its next report, and remains', async () => {
  const mac = newMac()
  await harness.claim(mac)
  const device = await connect(await harness.start(), mac)
  const cell = (bssid: string, signal: number) => ({ bssid, frequency: 5180, channel: 36, signal, ssid: 'office' })
  device.send('wifiscan', { uuid: 1, data: [cell('02:00:00:00:00:01', -70.5), cell('02:00:00:00:00:02', -52)] })
  await report(device, 100)
  const { scan } = (await kept(mac))?.report ?? {}
  expect(scan).toMatchObject({
    cells: [
      { bssid: '020000000002', rssi: -52 },
      { bssid: '020000000001', rssi: -70 },
    ],
  })
  harness.advance(60_000)
  await report(device, 160)
  expect((await kept(mac))?.report.scan).toEqual(scan)
})

const linkWith = (rx: number) => ({ 'link-state': { upstream: { eth0: { carrier: 1, counters: { rx_bytes: rx } } } } })

test('the last report of a device is kept with its time, and its summary is written only when it changes', async () => {
  const gateway = await harness.start()
  const mac = newMac()
  await harness.claim(mac)
  const device = await connect(gateway, mac)
  await report(device, 100, accessPoint)
  expect(await kept(mac)).toMatchObject({
    orgId: harness.orgId,
    reportedAt: harness.ctx.clock.now(),
    report: {
      radios: [
        { band: '5', channel: 100 },
        { band: '24', channel: 6 },
      ],
      ports: [{ id: 'eth1' }, { id: 'eth0' }],
    },
    clients: { wireless: [], wired: [{ mac: 'e263da000b8e' }] },
  })
  expect(await summary(mac)).toMatchObject({ type: 'ap', band24Channel: 6, band5Channel: 100, eth0PortSpeed: 1000 })
  const version = () =>
    sql<{ xmin: string }>`select xmin::text from device_summary where device_id = ${deviceIdOf(mac)}`
      .execute(harness.ctx.db)
      .then(({ rows }) => rows[0]?.xmin)
  const first = await version()
  harness.advance(60_000)
  await report(device, 160, accessPoint)
  expect(await version()).toBe(first)
  const [radio, ...others] = accessPoint.radios
  await report(device, 220, { ...accessPoint, radios: [{ ...radio, channel: 36 }, ...others] })
  expect(await version()).not.toBe(first)
  expect(await summary(mac)).toMatchObject({ band24Channel: 6, band5Channel: 36 })
  device.socket.close()
  await waitUntil('the disconnect', async () => !(await harness.status(mac)).connected)
  expect(await kept(mac)).toMatchObject({ report: { unit: { uptime_s: 220 } } })
})

test('reports of clients with current firmware and of switches are kept as well', async () => {
  const gateway = await harness.start()
  for (const [type, state, expected] of [
    [
      'ap',
      currentAccessPoint,
      { band6Channel: 37, band6Bandwidth: 160, lldpSystemName: 'core-1', lldpPortId: 'ge-0/0/7' },
    ],
    ['switch', olsSwitch, { type: 'switch', activePorts: 2, totalPorts: 3, band24Channel: null }],
  ] as const) {
    const mac = newMac()
    await harness.claim(mac, type)
    await report(await connect(gateway, mac), 60, state)
    expect(await summary(mac)).toMatchObject(expected)
  }
})

test('rates follow from two reports, and not across a restart of the device', async () => {
  const gateway = await harness.start()
  const mac = newMac()
  await harness.claim(mac)
  const device = await connect(gateway, mac)
  const rate = async () => (await kept(mac))?.report.ports[0]?.rx_bps
  await report(device, 100, linkWith(1000))
  expect(await rate()).toBeUndefined()
  harness.advance(60_000)
  await report(device, 160, linkWith(7000))
  expect(await rate()).toBe(800)
  harness.advance(60_000)
  await report(device, 30, linkWith(9000))
  expect(await rate()).toBeUndefined()
  harness.advance(60_000)
  await report(device, 90, linkWith(9000))
  expect(await rate()).toBe(0)
})

test('buckets of ten minutes are stored when they are over; the present one is in the row of the report', async () => {
  const gateway = await harness.start()
  const mac = newMac()
  const deviceId = await harness.claim(mac)
  const startS = Math.ceil(harness.ctx.clock.now().getTime() / 600_000) * 600
  harness.advance(startS * 1000 - harness.ctx.clock.now().getTime())
  // The gateway would close a connection that was silent for so long.
  const device = await connect(gateway, mac)
  const stored = () =>
    harness.ctx.db
      .selectFrom('deviceSeries')
      .select(['createdAt', 'samples', 'rxBytes', 'uptime'])
      .where('deviceId', '=', deviceId)
      .orderBy('createdAt')
      .execute()
  for (let minute = 0; minute < 12; minute += 1) {
    await report(device, 60 * (minute + 1), linkWith(600 * minute))
    harness.advance(60_000)
  }
  expect(await stored()).toEqual([{ createdAt: new Date(startS * 1000), samples: 10, rxBytes: '5400', uptime: '600' }])
  expect(await kept(mac)).toMatchObject({ bucket: { at: startS + 600, samples: 2, rx_bytes: 1200, uptime: 720 } })
})

test('what a device queued while it was offline is not its present state', async () => {
  const gateway = await harness.start()
  const mac = newMac()
  await harness.claim(mac, 'switch')
  const device = await connect(gateway, mac, false)
  device.send('state', { uuid: 7, state: { ...olsSwitch, unit: { memory: { free: 5 } } } })
  await waitUntil('the load', async () => (await harness.status(mac)).load !== null)
  expect(await kept(mac)).toBeUndefined()
  device.reply(2, { error: 0 })
  await report(device, 60, olsSwitch)
  expect(await kept(mac)).toMatchObject({ report: { ports: [{ id: 'Ethernet0' }, {}, {}] } })
})

test('the report leaves with the device: the next organization does not see it', async () => {
  const gateway = await harness.start()
  const mac = newMac()
  const deviceId = await harness.claim(mac)
  const device = await connect(gateway, mac)
  // The gateway closes connections that are silent for minutes.
  for (let minute = 1; minute <= 11; minute += 1) {
    await report(device, 60 * minute, accessPoint)
    harness.advance(60_000)
  }
  const seriesOf = () =>
    harness.ctx.db.selectFrom('deviceSeries').select('orgId').where('deviceId', '=', deviceId).execute()
  expect(await seriesOf()).toHaveLength(1)
  await inTx(harness.ctx, (tx) => deleteDevices(tx, systemScope('gateway', harness.orgId), [deviceId]))
  const orgId = randomUUID()
  const at = harness.ctx.clock.now()
  await inTx(harness.ctx, (tx) => insertOrg(tx, systemScope('gateway', orgId), { name: 'Next', doc: {}, at }))
  await claimDevice(harness.ctx, orgId, { mac, type: 'ap' })
  expect([await kept(mac), await summary(mac), await seriesOf()]).toEqual([undefined, undefined, []])
})

test('states of any shape are stored or dropped, and the device stays connected', async () => {
  const gateway = await harness.start()
  const mac = newMac()
  await harness.claim(mac)
  const device = await connect(gateway, mac)
  const long = 'x'.repeat(3000)
  for (const state of [
    {
      radios: { toString: 1 },
      interfaces: [null, 7, { ssids: [{ radio: { $ref: { toString: 1 } }, associations: 4 }] }],
    },
    { radios: [{ channel: 1e308, band: ['6G'] }], 'link-state': { upstream: { [`\ud83d${long}`]: { speed: -1 } } } },
    { 'link-state': { a: { '\u0000': { carrier: 'yes', counters: { rx_bytes: -5 } } } }, 'lldp-peers': [long] },
    { 'lldp-peers': { upstream: { eth0: [{ name: '\u0000\u0007', mac: 9, management_ips: ['no', '10.0.0.1'] }] } } },
  ])
    device.send('state', { uuid: 1, state })
  await report(device, 60, linkWith(5))
  expect(gateway.counters.read()).toMatchObject({ message_failed: 0, invalid_message: 0, malformed_frame: 0 })
  expect(device.socket.readyState).toBe(device.socket.OPEN)
})

test('the version of a configuration that waits is kept beside the applied one', async () => {
  const gateway = await harness.start()
  const mac = newMac()
  await harness.claim(mac)
  const device = await connect(gateway, mac)
  const untilLoad = (load: object) =>
    waitUntil('the versions', async () => {
      const known = Object(await harness.status(mac).then((status) => status.load))
      return Object.entries(load).every(([name, value]) => known[name] === value)
    })
  await report(device, 100)
  await untilLoad({ config_version: 1 })
  device.send('cfgpending', { active: 1, uuid: 1_700_000_000 })
  await untilLoad({ config_version: 1, config_latest: 1_700_000_000 })
  device.send('ping', { active: -1, uuid: 7 })
  device.send('ping', { active: 'one', uuid: 8 })
  device.send('ping', { uuid: 1_700_000_000 })
  await untilLoad({ config_version: 1_700_000_000, config_latest: 1_700_000_000 })
  device.send('ping', { active: 1_700_000_000, uuid: 1_700_000_001 })
  await untilLoad({ config_version: 1_700_000_000, config_latest: 1_700_000_001 })
})
