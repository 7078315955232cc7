import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recordEnds, recordReports } from '../../../support/fleets/record.ts'
import {
  type MadeDevice,
  addSite,
  claimNewDevice,
  connectDevice,
  makeDevices,
} from '../../../support/fleets/devices.ts'
import { addPerson } from '../../../support/people.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { createTestClock } from '../../../support/test-clock.ts'

const DAY_MS = 86_400_000

const clock = createTestClock()
let server: TestServer
let installer: TestOrg
let siteId: string
let siteName: string
let path: string
beforeAll(async () => {
  server = await startTestServer(clock)
  installer = await addPerson(server, [{ scope: 'org', role: 'installer' }])
  path = `/installer/orgs/${server.org.orgId}/devices`
})
// Each test uses a new site: tests advance the clock, and old sites are not accessible to installers.
beforeEach(async () => {
  siteName = randomUUID()
  siteId = await addSite(server, siteName)
})
afterAll(() => server.close())

const call = (method: string, rest = '', body?: unknown): Promise<Answer> =>
  server.call(method, `${path}${rest}`, { as: installer, ...(body !== undefined && { body }) })
const allow = (installers: unknown) =>
  server.call('PUT', `/orgs/${server.org.orgId}/setting`, { body: { installer: installers } })

const claimed = (traits: Parameters<typeof claimNewDevice>[1] = {}): Promise<MadeDevice> =>
  claimNewDevice(server, traits)

async function inventory(mac: string) {
  const { body } = await server.call('GET', `/orgs/${server.org.orgId}/inventory?mac=${mac}`)
  return body[0]
}

async function macs(query = ''): Promise<string[]> {
  const { status, body } = await call('GET', `?limit=1000${query}`)
  expect(status).toBe(200)
  return body.map(({ mac }: { mac: string }) => mac)
}

async function document(id: string) {
  return (await server.call('GET', `/sites/${siteId}/devices/${id}`)).body
}

describe('recently claimed devices', () => {
  it('are listed with their known data, by page, model and site', async () => {
    const device = await claimed({ siteId, model: 'EAP999', type: 'ap' })
    const session = await connectDevice(server.ctx, device.mac)
    await recordReports(server.ctx, [
      { ...session, load: {}, uptimeS: 77, boot: null, firmware: null, telemetry: null },
    ])
    await call('PUT', `/${device.mac}`, { name: 'Lobby', x: 1.5, y: 2, height: 2.7, orientation: 90 })
    const answer = await call('GET', '?model=EAP999')
    expect(answer.headers.get('x-page-total')).toBe('1')
    expect(answer.body).toEqual([
      {
        mac: device.mac,
        serial: device.serial,
        model: 'EAP999',
        name: 'Lobby',
        connected: true,
        site_name: siteName,
        version: '1.0.0',
        uptime: 77,
        last_seen: clock.now().getTime() / 1000,
        ext_ip: '192.0.2.7',
        x: 1.5,
        y: 2,
        height: 2.7,
        orientation: 90,
      },
    ])
    const another = await claimed()
    expect(await macs()).toEqual(expect.arrayContaining([device.mac, another.mac]))
    expect(await macs(`&site_name=${siteName}`)).not.toContain(another.mac)
    expect(await macs(`&site_id=${siteId}`)).toContain(device.mac)
    expect(await macs(`&site_id=${randomUUID()}`)).toEqual([])
    expect((await call('GET', '?limit=1&page=2')).body).toHaveLength(1)
  })

  it('are the only ones that any installer sees, until the organization allows all devices', async () => {
    const old = await claimed({ siteId })
    await connectDevice(server.ctx, old.mac)
    clock.advance(7 * DAY_MS + 1)
    const young = await claimed()
    expect(await macs()).toEqual([young.mac])
    expect((await server.call('GET', path)).body).toHaveLength(1)
    const attempts = [
      ['PUT', `/${old.mac}`, { name: 'taken' }],
      ['DELETE', `/${old.mac}`],
      ['POST', `/${old.mac}/locate`],
      ['POST', `/${old.mac}/unlocate`],
      ['GET', `/${old.mac}/vc`],
    ] as const
    for (const [method, rest, body] of attempts)
      expect(await call(method, rest, body), rest).toMatchObject({ status: 404, body: { detail: 'Not found.' } })
    expect(await inventory(old.mac)).toMatchObject({ site_id: siteId, name: '' })
    await allow({ grace_period: 8 })
    expect(await macs()).toContain(old.mac)
    await allow({ grace_period: 0, allow_all_devices: true })
    expect(await macs()).toContain(old.mac)
    expect((await call('DELETE', `/${old.mac}`)).status).toBe(200)
    await allow({})
  })

  it('of other sites are hidden from installers of one site; unassigned ones are not', async () => {
    const local = await addPerson(server, [{ scope: 'site', role: 'installer', site_id: siteId }])
    const elsewhereId = await addSite(server, 'Elsewhere')
    const elsewhere = await claimed({ siteId: elsewhereId })
    const free = await claimed()
    const list = await server.call('GET', path, { as: local })
    const seen = list.body.map(({ mac }: { mac: string }) => mac)
    expect(seen).toContain(free.mac)
    expect(seen).not.toContain(elsewhere.mac)
    const put = (mac: string, body: unknown) => server.call('PUT', `${path}/${mac}`, { as: local, body })
    expect((await put(elsewhere.mac, { name: 'x' })).status).toBe(404)
    expect((await put(free.mac, { name: 'x', site_id: elsewhereId })).status).toBe(404)
    expect((await put(free.mac, { name: 'x', site_name: 'Elsewhere' })).status).toBe(404)
    expect((await put(free.mac, { name: 'x', site_id: siteId })).status).toBe(200)
    expect((await inventory(free.mac)).site_id).toBe(siteId)
  })
})

describe('claiming', () => {
  it('answers like the inventory', async () => {
    const [device] = await makeDevices(server.ctx, 1)
    const code = device?.claim_code
    expect(await call('POST', '', [code, 'NEVER-MADE1'])).toMatchObject({
      status: 200,
      body: { added: [code], error: ['NEVER-MADE1'], reason: ['not found'], inventory_added: [{ mac: device?.mac }] },
    })
    expect((await call('POST', '', [code])).body).toMatchObject({ added: [], duplicated: [code] })
    expect(await call('POST', '', ['NEVER-MADE1'])).toMatchObject({ status: 400, body: { error: ['NEVER-MADE1'] } })
    expect(await macs()).toContain(device?.mac)
  })
})

describe('provisioning', () => {
  it('names a device, assigns it to a site and places it on a map, with one audit record and its event', async () => {
    const device = await claimed()
    const map = await server.call('POST', `/sites/${siteId}/maps`, { body: { name: 'Floor' } })
    const place = { map_id: map.body.id, x: 10, y: 20.5, height: 3, orientation: 180, role: 'access' }
    const upper = device.mac.toUpperCase()
    expect(
      await call('PUT', `/${upper}`, { name: 'Lobby', site_name: siteName, ...place, for_site: true }),
    ).toMatchObject({
      status: 200,
      body: {},
    })
    expect(await document(device.id)).toMatchObject({ name: 'Lobby', site_id: siteId, ...place })
    expect(await document(device.id)).not.toHaveProperty('for_site')
    const audit = await server.ctx.db
      .selectFrom('auditLog')
      .selectAll()
      .where('orgId', '=', server.org.orgId)
      .where('message', '=', 'Provision device Lobby')
      .orderBy('createdAt', 'desc')
      .executeTakeFirstOrThrow()
    expect(audit).toMatchObject({ siteId, adminId: installer.adminId })
    const events = await server.ctx.db
      .selectFrom('deviceEvent')
      .select(['type', 'siteId', 'siteName', 'deviceName', 'event'])
      .where('deviceId', '=', device.id)
      .orderBy('id')
      .execute()
    expect(events).toMatchObject([
      { type: 'AP_CLAIMED' },
      { type: 'AP_ASSIGNED', siteId, siteName, deviceName: 'Lobby', event: { audit_id: audit.id } },
    ])
    // Fields are unset as elsewhere, and a change of the site removes the device from its map.
    await call('PUT', `/${device.mac}`, { name: 'Hall', '-role': '' })
    expect(await document(device.id)).toMatchObject({ name: 'Hall', map_id: place.map_id })
    expect(await document(device.id)).not.toHaveProperty('role')
    const otherId = await addSite(server, 'Other')
    await call('PUT', `/${device.mac}`, { name: 'Hall', site_id: otherId })
    const moved = await server.call('GET', `/sites/${otherId}/devices/${device.id}`)
    expect(moved.body).toMatchObject({ height: 3 })
    expect(moved.body).not.toHaveProperty('map_id')
    expect(moved.body).not.toHaveProperty('x')
  })

  it('treats empty texts as unset', async () => {
    const device = await claimed()
    const empty = { site_name: '', replacing_mac: '', deviceprofile_name: '' }
    expect((await call('PUT', `/${device.mac}`, { name: 'A', ...empty })).status).toBe(200)
  })

  it.each([
    ['a missing name', { site_name: 'Here' }, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a name of 10,000 characters', { name: 'x'.repeat(10_000) }, 'name'],
    ['an invalid site id', { name: 'A', site_id: 'x' }, 'site_id'],
    ['two sites', { name: 'A', site_id: randomUUID(), site_name: 'Here' }, 'site_name'],
    ['a fraction of a degree', { name: 'A', orientation: 1.5 }, 'orientation'],
    ['a place that is a text', { name: 'A', x: '1' }, 'x'],
    ['an unknown map', { name: 'A', map_id: randomUUID() }, 'map_id'],
    ['a device profile', { name: 'A', deviceprofile_name: 'p' }, 'deviceprofile_name'],
  ])('refuses %s', async (_what, body, field) => {
    const device = await claimed()
    const answer = await call('PUT', `/${device.mac}`, body)
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(`Invalid field ${field}: `) } })
    expect((await inventory(device.mac)).name).toBe('')
  })

  it('refuses missing or inaccessible sites, and maps of other sites', async () => {
    const device = await claimed()
    const stranger = await server.addOrg()
    const foreign = await addSite(server, 'Foreign', stranger)
    const put = (body: object) => call('PUT', `/${device.mac}`, { name: 'A', ...body })
    expect((await put({ site_id: foreign })).status).toBe(404)
    expect((await put({ site_name: 'Foreign' })).status).toBe(404)
    const mapSite = await addSite(server, 'Of the map')
    const map = await server.call('POST', `/sites/${mapSite}/maps`, { body: { name: 'Floor' } })
    expect(await put({ site_id: siteId, map_id: map.body.id })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field map_id: ') },
    })
    clock.advance(7 * DAY_MS + 1)
    const fresh = await claimed()
    expect((await call('PUT', `/${fresh.mac}`, { name: 'A', site_id: siteId })).status).toBe(404)
    await allow({ extra_site_ids: [siteId] })
    expect((await call('PUT', `/${fresh.mac}`, { name: 'A', site_id: siteId })).status).toBe(200)
    await allow({})
  })

  it('refuses a name that several sites have', async () => {
    const device = await claimed()
    await addSite(server, 'Twin')
    await addSite(server, 'Twin')
    const answer = await call('PUT', `/${device.mac}`, { name: 'A', site_name: 'Twin' })
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining('site_id') } })
  })

  it('is undone by unassigning, which keeps the device', async () => {
    const device = await claimed({ siteId })
    expect(await call('DELETE', `/${device.mac}`)).toMatchObject({ status: 200, body: {} })
    expect(await inventory(device.mac)).not.toHaveProperty('site_id')
    expect((await call('DELETE', `/${device.mac}`)).status).toBe(200)
    const events = await server.ctx.db
      .selectFrom('deviceEvent')
      .select(['type', 'siteId'])
      .where('deviceId', '=', device.id)
      .orderBy('id')
      .execute()
    expect(events.slice(2)).toEqual([{ type: 'AP_UNASSIGNED', siteId }])
  })
})

describe('locating a device', () => {
  it('queues the command, with its audit record, for a connected device', async () => {
    const device = await claimed({ siteId })
    expect(await call('POST', `/${device.mac}/locate`)).toMatchObject({
      status: 400,
      body: { detail: 'Cannot locate an offline device' },
    })
    const session = await connectDevice(server.ctx, device.mac)
    const spelled = device.mac.toUpperCase().match(/../g)?.join('-')
    expect(await call('POST', `/${spelled}/locate`)).toMatchObject({ status: 200, body: {} })
    expect((await call('POST', `/${device.mac}/unlocate`)).status).toBe(200)
    const commands = await server.ctx.db
      .selectFrom('deviceCommand')
      .select(['kind', 'state'])
      .where('deviceId', '=', device.id)
      .orderBy('id')
      .execute()
    expect(commands).toEqual([
      { kind: 'locate', state: 'queued' },
      { kind: 'unlocate', state: 'queued' },
    ])
    await recordEnds(server.ctx, [session])
    expect((await call('POST', `/${device.mac}/unlocate`)).status).toBe(400)
  })

  it('is refused for devices that do not support it', async () => {
    const device = await claimed({ model: 'ECS4150', type: 'switch' })
    await connectDevice(server.ctx, device.mac, { type: 'switch' })
    expect(await call('POST', `/${device.mac}/locate`)).toMatchObject({
      status: 400,
      body: { detail: 'The device has no LEDs that can blink' },
    })
  })
})

describe('a Virtual Chassis', () => {
  it('is shown as its device reports it; other devices are not found', async () => {
    const device = await claimed({ model: 'ECS4150', type: 'switch', siteId })
    const [first, second] = [
      { mac: '0200000000a0', serial: 'M0', model: 'ECS4150' },
      { mac: '0200000000a1', serial: 'M1', model: 'ECS4150' },
    ]
    const members = [
      { member: 0, ...first, firmware: '1.2.0' },
      { member: 1, ...second, firmware: '1.2.0' },
    ]
    await connectDevice(server.ctx, device.mac, { type: 'switch', members: members.slice(0, 1) })
    expect((await call('GET', `/${device.mac}/vc`)).status).toBe(404)
    await connectDevice(server.ctx, device.mac, { type: 'switch', members })
    expect((await call('GET', `/${device.mac}/vc`)).body).toEqual({
      id: device.id,
      org_id: server.org.orgId,
      site_id: siteId,
      vc_mac: device.mac,
      serial: device.serial,
      model: 'ECS4150',
      status: 'connected',
      locating: false,
      members: [
        { fpc_idx: 0, ...first, version: '1.2.0', locating: false },
        { fpc_idx: 1, ...second, version: '1.2.0', locating: false },
      ],
    })
    const dotted = device.mac.replaceAll(/(....)(?=.)/g, '$1.').toUpperCase()
    expect((await call('GET', `/${dotted}/vc`)).body.id).toBe(device.id)
    const refused = { detail: 'Invalid field fpc0_mac: "nonsense" is not a MAC address' }
    expect(await call('GET', '/nonsense/vc')).toMatchObject({ status: 400, body: refused })
    expect((await call('GET', '/02ffffffffff/vc')).status).toBe(404)
    // The installer interface has no such operations, because uCentral can't form a Virtual Chassis.
    for (const method of ['POST', 'PUT'])
      expect((await call(method, `/${device.mac}/vc`, { members: [] })).status).toBe(405)
  })
})
