import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { appendDueOutages } from '../../../src/devices/sessions/record-disconnect.ts'
import { type OpenedSession, lockClaimedStatuses } from '../../../src/devices/sessions/store.ts'
import { insertOutages } from '../../../src/devices/sessions/store-outages.ts'
import { recordEnds } from '../../support/fleets/record.ts'
import { addSite, claimNewDevice, claimNewDevices, connectDevice } from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { listenTo } from '../../support/peers/webhooks.ts'

const MINUTE_MS = 60_000
const clock = createTestClock()
let server: TestServer
let siteId: string
let mac: string
let session: OpenedSession

beforeAll(async () => {
  server = await startTestServer(clock)
  await listenTo(server, 'device-updowns')
})
afterAll(() => server.close())

beforeEach(async () => {
  siteId = await addSite(server)
  await server.call('PUT', orgSetting(), { body: { '-device_updown_threshold': '' } })
  const device = await claimNewDevice(server, { siteId })
  mac = device.mac
  session = await connectDevice(server.ctx, mac)
  await server.ctx.db.deleteFrom('deviceEventRow').execute()
  await server.ctx.db.deleteFrom('webhookOutbox').execute()
})

const orgSetting = () => `/orgs/${server.org.orgId}/setting`
const disconnect = () => recordEnds(server.ctx, [session])

async function setThreshold(body: unknown, path = `/sites/${siteId}/setting`): Promise<void> {
  expect((await server.call('PUT', path, { body })).status).toBe(200)
}

async function pass(minutes: number): Promise<void> {
  clock.advance(minutes * MINUTE_MS)
  await appendDueOutages(server.ctx)
}

/** Returns the types of the device events, and of the events to be delivered as device-updowns. */
async function listEvents(): Promise<{ events: string[]; updowns: unknown[] }> {
  const { db } = server.ctx
  const events = await db.selectFrom('deviceEvent').select('type').orderBy('id').execute()
  const sent = await db
    .selectFrom('webhookOutbox')
    .select('event')
    .where('topic', '=', 'device-updowns')
    .orderBy('id')
    .execute()
  return { events: events.map(({ type }) => type), updowns: sent.map(({ event }) => event?.['type']) }
}

const pending = async () => (await server.ctx.db.selectFrom('deviceOutage').selectAll().execute()).length

describe('an outage', () => {
  test('is named by the members of both forms that receivers read', async () => {
    await disconnect()
    const sent = await server.ctx.db.selectFrom('webhookOutbox').select('event').execute()
    expect(sent.map(({ event }) => event)).toEqual([
      {
        ap: mac,
        ap_name: mac,
        device_name: mac,
        device_type: 'ap',
        mac,
        org_id: server.org.orgId,
        site_id: siteId,
        site_name: 'Here',
        for_site: true,
        timestamp: expect.any(Number),
        type: 'AP_DISCONNECTED',
      },
    ])
  })

  test('is reported immediately without a threshold', async () => {
    await disconnect()
    expect(await listEvents()).toEqual({ events: ['AP_DISCONNECTED'], updowns: ['AP_DISCONNECTED'] })
    expect(await pending()).toBe(0)
  })

  test('is reported once it has lasted that long, with its start; until then the device is shown as disconnected', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    const downAt = clock.now().toISOString()
    await disconnect()
    const stats = await server.call('GET', `/sites/${siteId}/stats/devices`)
    expect(stats.body).toMatchObject([{ status: 'disconnected' }])
    await pass(4.9)
    expect((await listEvents()).events).toEqual([])
    await pass(0.1)
    expect(await listEvents()).toEqual({ events: ['AP_DISCONNECTED'], updowns: ['AP_DISCONNECTED'] })
    const event = await server.ctx.db.selectFrom('deviceEvent').selectAll().executeTakeFirstOrThrow()
    expect(event).toMatchObject({ siteId, event: { text: `since ${downAt}` } })
    await pass(60)
    await connectDevice(server.ctx, mac, { reason: null })
    expect((await listEvents()).events).toEqual(['AP_DISCONNECTED', 'AP_CONNECTED'])
  })

  test('that ends within the threshold is ignored: neither down nor up is reported', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    await disconnect()
    await pass(4)
    session = await connectDevice(server.ctx, mac, { reason: null })
    await pass(240)
    expect(await listEvents()).toEqual({ events: [], updowns: [] })
    expect(await pending()).toBe(0)
    // The threshold of the next outage counts from its own start.
    await disconnect()
    await pass(4)
    expect((await listEvents()).events).toEqual([])
    await pass(1)
    expect((await listEvents()).events).toEqual(['AP_DISCONNECTED'])
  })

  test('that was a boot is reported as one', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    await disconnect()
    await connectDevice(server.ctx, mac, { firmware: '2.0.0' })
    expect((await listEvents()).events).toEqual(['AP_RESTARTED'])
  })

  test('uses the threshold of the site, and that of the organization if the site sets none', async () => {
    await setThreshold({ device_updown_threshold: 3 }, orgSetting())
    await disconnect()
    expect((await listEvents()).events).toEqual([])
    await pass(3)
    session = await connectDevice(server.ctx, mac, { reason: null })
    expect((await listEvents()).events).toEqual(['AP_DISCONNECTED', 'AP_CONNECTED'])
    await setThreshold({ device_updown_threshold: 0 })
    await disconnect()
    expect((await listEvents()).events).toHaveLength(3)
  })

  test('uses the threshold of the device type if there is one', async () => {
    await setThreshold({ device_updown_threshold: 5, ap_updown_threshold: 0 })
    await disconnect()
    expect((await listEvents()).events).toEqual(['AP_DISCONNECTED'])
  })

  test('of a device that leaves the organization is deleted', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    await disconnect()
    expect(await pending()).toBe(1)
    await server.call('PUT', `/orgs/${server.org.orgId}/inventory`, { body: { op: 'delete', macs: [mac] } })
    expect(await pending()).toBe(0)
    await pass(5)
    expect((await listEvents()).events).toEqual(['AP_UNCLAIMED'])
  })

  test('of a whole fleet is reported in one sweep', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    await disconnect()
    // With the device that is down already, this is one more than one transaction handles.
    await claimNewDevices(server, 1000, { siteId })
    const { db } = server.ctx
    const devices = await db.selectFrom('device').select('id').where('siteId', '=', siteId).execute()
    await db.transaction().execute(async (tx) => {
      const statuses = await lockClaimedStatuses(
        tx,
        devices.map(({ id }) => id),
      )
      const downAt = clock.now()
      await insertOutages(
        tx,
        statuses.map(({ orgId, deviceId }) => ({ orgId, deviceId, downAt, dueAt: downAt })),
      )
    })
    clock.advance(5 * MINUTE_MS)
    await db.deleteFrom('deviceEventRow').execute()
    await appendDueOutages(server.ctx)
    expect((await listEvents()).events).toHaveLength(1001)
    expect(await pending()).toBe(0)
  })

  test('is reported once, by any of several processes', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    await disconnect()
    clock.advance(5 * MINUTE_MS)
    await Promise.all([1, 2, 3, 4].map(() => appendDueOutages(server.ctx)))
    expect((await listEvents()).events).toEqual(['AP_DISCONNECTED'])
  })

  test('and a concurrent reconnect end in consistent events', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    for (let round = 0; round < 5; round += 1) {
      await disconnect()
      clock.advance(5 * MINUTE_MS)
      const back = connectDevice(server.ctx, mac, { reason: null })
      await Promise.all([back, appendDueOutages(server.ctx)])
      session = await back
      const { events } = await listEvents()
      // Both events or none, never one without the other.
      expect([[], ['AP_DISCONNECTED', 'AP_CONNECTED']]).toContainEqual(events)
      expect(await pending()).toBe(0)
      await server.ctx.db.deleteFrom('deviceEventRow').execute()
    }
  })
})
