import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { recordDisconnects, tellOutages } from '../../src/devices/sessions/record-disconnect.ts'
import { type OpenedSession, lockClaimedStatuses } from '../../src/devices/sessions/store.ts'
import { insertOutages } from '../../src/devices/sessions/store-outages.ts'
import { addSite, claimNewDevices, connectDevice } from '../support/devices.ts'
import { type TestServer, startTestServer } from '../support/server.ts'
import { createTestClock } from '../support/test-clock.ts'

const MINUTE_MS = 60_000
const clock = createTestClock()
let server: TestServer
let siteId: string
let mac: string
let session: OpenedSession

beforeAll(async () => {
  server = await startTestServer(clock)
})
afterAll(() => server.close())

beforeEach(async () => {
  siteId = await addSite(server)
  await server.call('PUT', orgSetting(), { body: { '-device_updown_threshold': '' } })
  const [device] = await claimNewDevices(server, 1, { siteId })
  if (device === undefined) throw new Error('no device')
  mac = device.mac
  session = await connectDevice(server.ctx, mac)
  await server.ctx.db.deleteFrom('deviceEvent').execute()
  await server.ctx.db.deleteFrom('webhookOutbox').execute()
})

const orgSetting = () => `/orgs/${server.org.orgId}/setting`
const disconnect = () => recordDisconnects(server.ctx, [session])

async function setThreshold(body: unknown, path = `/sites/${siteId}/setting`): Promise<void> {
  expect((await server.call('PUT', path, { body })).status).toBe(200)
}

async function pass(minutes: number): Promise<void> {
  clock.advance(minutes * MINUTE_MS)
  await tellOutages(server.ctx)
}

/** Types of the events of devices, and of those to be sent as ups and downs. */
async function told(): Promise<{ events: string[]; updowns: unknown[] }> {
  const { db } = server.ctx
  const events = await db.selectFrom('deviceEvent').select('type').orderBy('id').execute()
  const sent = await db
    .selectFrom('webhookOutbox')
    .select('event')
    .where('topic', '=', 'device-updowns')
    .orderBy('id')
    .execute()
  return { events: events.map(({ type }) => type), updowns: sent.map(({ event }) => event['type']) }
}

const pending = async () => (await server.ctx.db.selectFrom('deviceOutage').selectAll().execute()).length

describe('an outage', () => {
  test('is told at once without a threshold', async () => {
    await disconnect()
    expect(await told()).toEqual({ events: ['AP_DISCONNECTED'], updowns: ['AP_DISCONNECTED'] })
    expect(await pending()).toBe(0)
  })

  test('is told once it has lasted, with when it began; the device is shown as it is meanwhile', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    const downAt = clock.now().toISOString()
    await disconnect()
    const stats = await server.call('GET', `/sites/${siteId}/stats/devices`)
    expect(stats.body).toMatchObject([{ status: 'disconnected' }])
    await pass(4.9)
    expect((await told()).events).toEqual([])
    await pass(0.1)
    expect(await told()).toEqual({ events: ['AP_DISCONNECTED'], updowns: ['AP_DISCONNECTED'] })
    const { event } = await server.ctx.db.selectFrom('deviceEvent').select('event').executeTakeFirstOrThrow()
    expect(event).toMatchObject({ text: `since ${downAt}`, site_id: siteId })
    await pass(60)
    await connectDevice(server.ctx, mac, { reason: null })
    expect((await told()).events).toEqual(['AP_DISCONNECTED', 'AP_CONNECTED'])
  })

  test('that ends within the threshold was none: neither down nor up is told', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    await disconnect()
    await pass(4)
    session = await connectDevice(server.ctx, mac, { reason: null })
    await pass(240)
    expect(await told()).toEqual({ events: [], updowns: [] })
    expect(await pending()).toBe(0)
    // The next one counts from its own beginning.
    await disconnect()
    await pass(4)
    expect((await told()).events).toEqual([])
    await pass(1)
    expect((await told()).events).toEqual(['AP_DISCONNECTED'])
  })

  test('that was a boot is told as that', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    await disconnect()
    await connectDevice(server.ctx, mac, { firmware: '2.0.0' })
    expect((await told()).events).toEqual(['AP_RESTARTED'])
  })

  test('is timed by the site, and by its organization where the site says nothing', async () => {
    await setThreshold({ device_updown_threshold: 3 }, orgSetting())
    await disconnect()
    expect((await told()).events).toEqual([])
    await pass(3)
    session = await connectDevice(server.ctx, mac, { reason: null })
    expect((await told()).events).toEqual(['AP_DISCONNECTED', 'AP_CONNECTED'])
    await setThreshold({ device_updown_threshold: 0 })
    await disconnect()
    expect((await told()).events).toHaveLength(3)
  })

  test('is timed by the type of the device where that has a threshold', async () => {
    await setThreshold({ device_updown_threshold: 5, ap_updown_threshold: 0 })
    await disconnect()
    expect((await told()).events).toEqual(['AP_DISCONNECTED'])
  })

  test('of a device that leaves the organization is forgotten', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    await disconnect()
    expect(await pending()).toBe(1)
    await server.call('PUT', `/orgs/${server.org.orgId}/inventory`, { body: { op: 'delete', macs: [mac] } })
    expect(await pending()).toBe(0)
    await pass(5)
    expect((await told()).events).toEqual(['AP_UNCLAIMED'])
  })

  test('of a whole fleet is told in one sweep', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    await disconnect()
    // With the one that is down already, one more than goes into one transaction.
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
    await db.deleteFrom('deviceEvent').execute()
    await tellOutages(server.ctx)
    expect((await told()).events).toHaveLength(1001)
    expect(await pending()).toBe(0)
  })

  test('is told once, by whichever of several processes', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    await disconnect()
    clock.advance(5 * MINUTE_MS)
    await Promise.all([1, 2, 3, 4].map(() => tellOutages(server.ctx)))
    expect((await told()).events).toEqual(['AP_DISCONNECTED'])
  })

  test('and a return that meet end in one story', async () => {
    await setThreshold({ device_updown_threshold: 5 })
    for (let round = 0; round < 5; round += 1) {
      await disconnect()
      clock.advance(5 * MINUTE_MS)
      const back = connectDevice(server.ctx, mac, { reason: null })
      await Promise.all([back, tellOutages(server.ctx)])
      session = await back
      const { events } = await told()
      // Both or none, never the one without the other.
      expect([[], ['AP_DISCONNECTED', 'AP_CONNECTED']]).toContainEqual(events)
      expect(await pending()).toBe(0)
      await server.ctx.db.deleteFrom('deviceEvent').execute()
    }
  })
})
