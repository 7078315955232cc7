import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemScope } from '../../../src/access/scope.ts'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { kindOf } from '../../../src/events/device-event-types.ts'
import type { OpenedSession } from '../../../src/devices/sessions/store.ts'
import { json } from '../../../src/platform/database/db.ts'
import { listTargetEvents } from '../../../src/upgrades/targets/store-events.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { eventPlace } from '../../support/database/event-place.ts'
import {
  type MadeDevice,
  addSite,
  claimNewDevice,
  claimNewDevices,
  connectDevice,
  makeDevices,
} from '../../support/fleets/devices.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { listenTo } from '../../support/peers/webhooks.ts'
import { recordReports } from '../../support/fleets/record.ts'

let server: TestServer
let siteId: string
let ap: MadeDevice
let other: MadeDevice
let session: OpenedSession
beforeAll(async () => {
  server = await startTestServer()
  await listenTo(server, 'device-events')
  siteId = await addSite(server)
  ap = await claimNewDevice(server, { siteId })
  other = await claimNewDevice(server, { model: 'EX4100-48P' })
  session = await connectDevice(server.ctx, ap.mac)
})
afterAll(() => server.close())

const org = (path: string): Promise<Answer> => server.call('GET', `/orgs/${server.org.orgId}/devices/events/${path}`)
const site = (path: string): Promise<Answer> => server.call('GET', `/sites/${siteId}/devices/events/${path}`)
const typesOf = (answer: Answer): string[] => answer.body.results.map(({ type }: { type: string }) => type)

it('finds events of access points, the newest first, and of other types on request', async () => {
  expect(typesOf(await org('search'))).toEqual(['AP_CONNECTED', 'AP_ASSIGNED', 'AP_CLAIMED'])
  expect(typesOf(await org('search?sort=timestamp&limit=2'))).toEqual(['AP_CLAIMED', 'AP_ASSIGNED'])
  expect(typesOf(await org('search?device_type=switch'))).toEqual(['SW_CLAIMED'])
  expect((await org('search?device_type=all')).body.total).toBe(4)
  expect(typesOf(await site('search'))).toEqual(['AP_CONNECTED', 'AP_ASSIGNED'])
  const { body } = await org('search?limit=1&page=2')
  expect(body).toMatchObject({ total: 3, limit: 1, next: expect.stringContaining('page=3') })
  expect(body.results).toMatchObject([
    { mac: ap.mac, ap: ap.mac, device_type: 'ap', org_id: server.org.orgId, site_id: siteId },
  ])
})

it.each([
  ['type=AP_CLAIMED,AP_ASSIGNED', 2],
  ['model=AP45', 3],
  ['model=AP34', 0],
  ['text=nothing', 0],
  ['end=-1h', 0],
  ['timestamp=1', 0],
  ['duration=2h', 3],
])('finds %i when filtered by %s', async (query, total) => {
  expect((await org(`search?${query}`)).body.total).toBe(total)
})

it('finds no events of an unknown site, in all the time that there is', async () => {
  const { status, body } = await org(`search?site_id=${uuidv7()}&start=0&end=253402300799`)
  expect({ status, total: body.total }).toEqual({ status: 200, total: 0 })
})

it('finds and counts events of one device', async () => {
  expect((await org(`search?device_type=all&mac=${other.mac}`)).body.total).toBe(1)
  expect((await org(`count?distinct=type&ap=${ap.mac}`)).body.total).toBe(3)
  expect((await org(`count?distinct=type&ap=${ap.mac}&mac=${other.mac}`)).body.total).toBe(0)
})

it('finds the last event of each value of a field', async () => {
  const { body } = await org('search?device_type=all&last_by=mac')
  expect(body.total).toBe(2)
  expect(body.results.map(({ mac, type }: { mac: string; type: string }) => [mac, type])).toEqual(
    expect.arrayContaining([
      [ap.mac, 'AP_CONNECTED'],
      [other.mac, 'SW_CLAIMED'],
    ]),
  )
  expect(typesOf(await org('search?device_type=all&last_by=ap'))).toEqual(['AP_CONNECTED'])
  expect(typesOf(await org('search?last_by=site_id&type=AP_CLAIMED,AP_ASSIGNED'))).toEqual(['AP_ASSIGNED'])
  expect(typesOf(await org('search?last_by=type&sort=timestamp&limit=1&page=2'))).toEqual(['AP_ASSIGNED'])
  expect((await org('search?includes=ext_tunnel')).body.total).toBe(3)
})

it('counts by model, type, MAC and site', async () => {
  expect((await org('count')).body).toMatchObject({
    distinct: 'model',
    results: [
      { model: 'AP45', count: 3 },
      { model: 'EX4100-48P', count: 1 },
    ],
  })
  expect((await org('count?distinct=site_id')).body.results).toContainEqual({ site_id: siteId, count: 2 })
  const [first] = (await org('count?distinct=timestamp')).body.results
  expect(first).toEqual({ timestamp: expect.stringMatching(/^\d{10}(\.\d+)?$/), count: expect.any(Number) })
  // Claims and assignments are not reported by the device.
  expect((await org('count?distinct=apfw')).body.results).toContainEqual({ apfw: '1.0.0', count: 1 })
  expect((await site('count?distinct=mac')).body.results).toEqual([{ mac: ap.mac, count: 2 }])
})

it.each(['search?mac=x', 'search?last_by=model', 'count?distinct=colour'])('refuses %s', async (query) => {
  expect(await org(query)).toMatchObject({ status: 400, body: { detail: expect.any(String) } })
})

it('has each event on one page only, also of those that come while a client reads the pages', async () => {
  const first = (await org('search?device_type=all&limit=2')).body
  await server.call('POST', `/orgs/${server.org.orgId}/inventory`, {
    body: [(await makeDevices(server.ctx, 1))[0]?.claim_code],
  })
  const found: AnyJson[] = [...first.results]
  for (let page = first; page.next !== undefined;) {
    page = (await server.call('GET', page.next.replace('/api/v1', ''))).body
    expect(page).toMatchObject({ total: first.total, start: first.start, end: first.end })
    found.push(...page.results)
  }
  expect(new Set(found.map(({ id }) => id)).size).toBe(first.total)
  expect(found).toHaveLength(first.total)
})

it('has events of several hours, sites and instants in one order, however it is limited', async () => {
  const otherSite = await addSite(server)
  const day = '2020-02-01'
  const times = ['00:00:00', '00:59:59.999', '01:00:00', '01:00:00', '03:20:00', '03:20:00', '23:59:59.999']
  const moments = times.flatMap((time) =>
    [siteId, otherSite, null].map((place) => ({ at: new Date(`${day}T${time}Z`), place })),
  )
  // The ids are in no order of time, as those of several processes within a moment.
  const ids = moments.map(() => uuidv7()).toReversed()
  const made = moments.map((moment, index) => Object.assign(moment, { id: ids[index] ?? '' }))
  const { orgId } = server.org
  const rows = made.map(({ id, at, place }) => {
    const row = { id, deviceId: deviceIdOf(ap.mac), kind: kindOf('ap', 'PORT_UP'), createdAt: at }
    return { ...row, ...eventPlace(orgId, place), event: json({}) }
  })
  await server.ctx.db.insertInto('deviceEventRow').values(rows).execute()
  const inOrder = made.toSorted((a, b) => a.at.getTime() - b.at.getTime() || (a.id < b.id ? -1 : 1))
  const second = (time: string): number => Date.parse(`${day}T${time}Z`) / 1000
  const range = `start=${second('00:30:00')}&end=${second('03:20:00')}`
  const hits = inOrder.filter(({ at }) => at >= new Date(`${day}T00:30:00Z`) && at <= new Date(`${day}T03:20:00Z`))
  const idsOf = (some: typeof made): string[] => some.map(({ id }) => id)
  const found = async (search: (path: string) => Promise<Answer>, query: string): Promise<string[]> => {
    const { body } = await search(`search?${range}&${query}`)
    return body.results.map(({ id }: { id: string }) => id)
  }
  expect(await found(org, 'sort=timestamp')).toEqual(idsOf(hits))
  expect(await found(org, '')).toEqual(idsOf(hits.toReversed()))
  for (const page of hits.keys())
    expect(await found(org, `sort=timestamp&limit=1&page=${page + 1}`)).toEqual(idsOf(hits.slice(page, page + 1)))
  const ofSite = (place: string) => idsOf(hits.filter((event) => event.place === place))
  expect(await found(site, 'sort=timestamp')).toEqual(ofSite(siteId))
  expect(await found(org, `sort=timestamp&site_id=${otherSite}`)).toEqual(ofSite(otherSite))
  expect(await found(org, `sort=timestamp&site_id=${siteId}&type=AP_PORT*`)).toEqual(ofSite(siteId))
  expect((await org(`count?${range}&distinct=site_id`)).body.results).toContainEqual({ site_id: otherSite, count: 5 })
  // A decade has more hours than are looked up one by one.
  const decade = `start=${second('00:30:00')}&end=${second('00:30:00') + 10 * 365 * 86_400}&type=AP_PORT_UP`
  expect((await site(`search?${decade}`)).body.total).toBe(6)
  expect((await org(`search?start=${second('01:00:00')}&end=${second('00:00:00')}`)).body.total).toBe(0)
})

it('finds the events of a device among those of devices with the same begin or end of the MAC address', async () => {
  const macs = ['a0b0c0112233', 'a0b0c1112233', 'a0b0c0112234', 'a0b0c0ff2233']
  const since = new Date('2020-03-01T10:30:00Z')
  const rows = macs.map((mac) => {
    const row = { id: uuidv7(), deviceId: deviceIdOf(mac), kind: kindOf('ap', 'CONNECTED'), createdAt: since }
    return { ...row, ...eventPlace(server.org.orgId, null), event: json({ text: mac }) }
  })
  await server.ctx.db.insertInto('deviceEventRow').values(rows).execute()
  const range = `start=${since.getTime() / 1000}&end=${since.getTime() / 1000}`
  const found = async (query: string): Promise<string[]> => {
    const { body } = await org(`search?${range}&${query}`)
    return body.results.map(({ mac }: { mac: string }) => mac).toSorted()
  }
  const [first = '', second = '', third = '', fourth = ''] = macs
  for (const mac of macs) expect(await found(`mac=${mac}`)).toEqual([mac])
  expect(await found(`mac=${second},${third}`)).toEqual([third, second])
  expect(await found(`mac=${first},a0b0c1*`)).toEqual([first, second])
  expect(await found('mac=a0b0c*')).toEqual([first, third, fourth, second])
  expect(await found('mac=a0b0c0*')).toEqual([first, third, fourth])
  expect(await found('mac=a0b0c01*')).toEqual([first, third])
  expect(await found('mac=a0b0c011223*')).toEqual([first, third])
  expect(await found('mac=a0b0c0112233*')).toEqual([first])
  const scope = systemScope('operator', server.org.orgId)
  for (const mac of macs) {
    const events = await listTargetEvents(server.ctx.db, scope, { deviceId: deviceIdOf(mac), since, end: null })
    expect(events.map(({ text }) => text)).toEqual([mac])
  }
})

describe('ports', () => {
  const nothing = { unit: {}, radios: [], interfaces: [], neighbors: [], wireless: [], wired: [] }
  /** Records reports that arrive together; each lists the ports that have a link, and those that have none. */
  async function report(uptimeS: number, ...links: Record<string, boolean>[]): Promise<void> {
    const { deviceId, epoch } = session
    const reports = links.map((ports) => ({
      deviceId,
      epoch,
      load: {},
      uptimeS,
      boot: null,
      firmware: null,
      telemetry: Object.assign({ ports: Object.entries(ports).map(([id, up]) => ({ id, up })) }, nothing),
    }))
    await recordReports(server.ctx, reports)
  }

  it('that come up or go down between two reports are events, with how often they have', async () => {
    await report(5000, { eth0: true, eth1: false })
    expect((await org('search?type=AP_PORT*')).body.total).toBe(0)
    await report(5001, { eth0: false, eth1: true }, { eth0: true, eth1: true })
    const { results } = (await org('search?type=AP_PORT*&sort=port_id')).body
    const common = { mac: ap.mac, site_id: siteId, apfw: '1.0.0', ev_type: 'notice' }
    expect(results).toMatchObject([
      { ...common, type: 'AP_PORT_UP', port_id: 'eth0', count: 2, text: 'Port eth0 is up' },
      { ...common, type: 'AP_PORT_UP', port_id: 'eth1', count: 1 },
    ])
    const sent = await server.ctx.db
      .selectFrom('webhookOutbox')
      .select('event')
      .where('topic', '=', 'device-events')
      .execute()
    expect(sent.map(({ event }) => event)).toContainEqual(expect.objectContaining({ port_id: 'eth0', count: 2 }))
  })

  it('that come up with a boot are none', async () => {
    await report(5, { eth0: false, eth1: false })
    expect((await org('search?type=AP_PORT*')).body.total).toBe(2)
    await report(6, { eth0: true, eth1: false })
    expect(typesOf(await org('search?type=AP_PORT*&limit=1'))).toEqual(['AP_PORT_UP'])
  })

  it('that go down are events, too', async () => {
    await report(7, { eth0: false, eth1: false })
    const { results } = (await org('search?type=AP_PORT*&limit=1')).body
    expect(results).toMatchObject([{ type: 'AP_PORT_DOWN', port_id: 'eth0', text: 'Port eth0 is down' }])
  })
})

it('says which devices a person has changed, and in which record of the audit log, but not those that are as before', async () => {
  const place = await addSite(server)
  const [first, second] = await claimNewDevices(server, 2, { siteId: place })
  if (first === undefined || second === undefined) throw new Error('no devices')
  const path = `/sites/${place}/devices`
  const put = (body: object) => server.call('PUT', `${path}/${first.id}`, { body })
  await put({ name: 'Lobby' })
  await put({ name: 'Lobby' })
  const rows = [first, second].map(({ mac }) => ({ mac, name: 'Lobby' }))
  expect((await server.call('POST', `${path}/import`, { body: rows })).status).toBe(200)
  const { body } = await server.call('GET', `${path}/events/search?type=AP_CONFIG_CHANGED_BY_USER&sort=timestamp`)
  expect(body.results.map(({ mac, ap_name: name }: AnyJson) => [mac, name])).toEqual([
    [first.mac, 'Lobby'],
    [second.mac, 'Lobby'],
  ])
  const logs = (await server.call('GET', `/orgs/${server.org.orgId}/logs?site_id=${place}`)).body.results
  const messageOf = new Map(logs.map(({ id, message }: AnyJson) => [id, message]))
  expect(body.results.map(({ audit_id: id }: AnyJson) => messageOf.get(id))).toEqual([
    'Update device Lobby',
    `Import device ${second.mac}`,
  ])
  const sent = await server.ctx.db
    .selectFrom('webhookOutbox')
    .select('event')
    .where('topic', '=', 'device-events')
    .where('siteId', '=', place)
    .orderBy('id')
    .execute()
  const changed = sent.filter(({ event }) => event?.['type'] === 'AP_CONFIG_CHANGED_BY_USER')
  expect(changed.map(({ event }) => event?.['mac'])).toEqual([first.mac, second.mac])
})
