import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DeviceCapabilities } from '../../../src/devices/tables.ts'
import { recordEnds, recordReports } from '../../support/fleets/record.ts'
import { listFwUpdates, setFwUpdate } from '../../support/fleets/device-upgrades.ts'
import {
  type MadeDevice,
  addSite,
  claimNewDevice,
  claimNewDevices,
  connectDevice,
  stockCapabilities,
} from '../../support/fleets/devices.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { listenTo } from '../../support/peers/webhooks.ts'
import { addPrivilege } from '../../support/people.ts'

let now = new Date('2026-11-20T12:00:00Z')
let server: TestServer
let siteId: string
let other: TestOrg
beforeAll(async () => {
  server = await startTestServer({ now: () => now })
  await listenTo(server, 'audits', 'device-events')
  siteId = await addSite(server)
  other = await server.addOrg()
})
afterAll(() => server.close())

const newDevice = (model = 'AP45'): Promise<MadeDevice> => claimNewDevice(server, { siteId, model })

const macsOf = (body: { mac: string }[]): string[] => body.map(({ mac }) => mac)

describe('devices', () => {
  it('are listed by site, type and part of the name, in pages', async () => {
    const site = await addSite(server, 'Lists')
    const aps = await claimNewDevices(server, 3, { siteId: site })
    const sw = await claimNewDevice(server, { siteId: site, model: 'EX4100-48P' })
    await server.call('PUT', `/sites/${site}/devices/${aps[0]?.id}`, { body: { name: '100% Lobby_1' } })
    const list = (query: string) => server.call('GET', `/sites/${site}/devices?${query}`)
    expect(macsOf((await list('')).body)).toEqual(aps.map(({ mac }) => mac))
    expect(macsOf((await list('type=switch')).body)).toEqual([sw.mac])
    expect((await list('type=all')).body).toHaveLength(4)
    expect(macsOf((await list('name=lobby_')).body)).toEqual([aps[0]?.mac])
    expect((await list('name=%25_')).body).toEqual([])
    const second = await list('type=all&limit=3&page=2')
    expect(second.body).toHaveLength(1)
    expect(second.headers.get('x-page-total')).toBe('4')
    expect((await list('type=toaster')).status).toBe(400)
    const names = await server.call('GET', `/orgs/${server.org.orgId}/devices`)
    expect(names.body.results).toContainEqual({ mac: aps[0]?.mac, name: '100% Lobby_1' })
    expect(names.body.results).toContainEqual({ mac: aps[1]?.mac, name: '' })
  })

  it('keep unknown fields, merge at the top level and delete fields on request', async () => {
    const device = await newDevice()
    const path = `/sites/${siteId}/devices/${device.id}`
    const put = async (body: object) => (await server.call('PUT', path, { body })).body
    expect(await put({ name: 'Lobby', led: { enabled: false }, radio_config: { band_5: { power: 7 } } })).toMatchObject(
      {
        name: 'Lobby',
        led: { enabled: false },
        type: 'ap',
        mac: device.mac,
        site_id: siteId,
        org_id: server.org.orgId,
      },
    )
    expect(await put({ led: { brightness: 3 } })).toMatchObject({ name: 'Lobby', led: { brightness: 3 } })
    const others = { id: randomUUID(), mac: '000000000000', org_id: other.orgId, type: 'switch' }
    for (const [field, value] of Object.entries(others))
      expect(await put({ '-led': '', [field]: value })).toMatchObject({
        detail: `Invalid field ${field}: can't be changed: the service sets it`,
      })
    const after = await put({ '-led': '', id: device.id, mac: device.mac, type: 'ap' })
    expect(after).toMatchObject({ id: device.id, mac: device.mac, type: 'ap', radio_config: { band_5: { power: 7 } } })
    expect(after).not.toHaveProperty('led')
    expect((await put({ name: null })).name).toBe('')
    expect((await server.call('GET', path)).body).toEqual(await put({}))
  })

  it('leave an audit record of each change', async () => {
    const device = await newDevice()
    await server.call('PUT', `/sites/${siteId}/devices/${device.id}`, { body: { name: 'Audited' } })
    const record = await server.ctx.db
      .selectFrom('auditLog')
      .selectAll()
      .where('message', '=', 'Update device Audited')
      .executeTakeFirst()
    expect(record).toMatchObject({ siteId, before: {}, after: { name: 'Audited' } })
  })

  it.each([
    ['malformed JSON', '{"name"'],
    ['a list', []],
    ['a name of a wrong type', { name: 7 }],
    ['a NUL', '{"name": "\\u0000"}'],
    ['a very long name', { name: 'x'.repeat(201) }],
  ])('refuse %s and remain unchanged', async (_what, body) => {
    const device = await newDevice()
    const path = `/sites/${siteId}/devices/${device.id}`
    const before = (await server.call('GET', path)).body
    expect(await server.call('PUT', path, { body })).toMatchObject({
      status: 400,
      body: { detail: expect.any(String) },
    })
    expect((await server.call('GET', path)).body).toEqual(before)
  })
})

describe('access', () => {
  it("is limited to the own organization, and to the device's current site", async () => {
    const device = await newDevice()
    const elsewhere = await addSite(server, 'Elsewhere')
    const theirs = await addSite(server, 'Theirs', other)
    const operations = [
      ['GET', (site: string, id: string) => `/sites/${site}/devices/${id}`],
      ['PUT', (site: string, id: string) => `/sites/${site}/devices/${id}`],
      ['GET', (site: string, id: string) => `/sites/${site}/stats/devices/${id}`],
      ['POST', (site: string, id: string) => `/sites/${site}/devices/${id}/restart`],
    ] as const
    for (const [method, path] of operations) {
      const call = (site: string, id: string, as: TestOrg | null) =>
        server.call(method, path(site, id), { as, ...(method !== 'GET' && { body: {} }) })
      expect((await call(siteId, device.id, other)).status).toBe(404)
      expect((await call(theirs, device.id, other)).status).toBe(404)
      expect((await call(elsewhere, device.id, server.org)).status).toBe(404)
      expect(await call(siteId, randomUUID(), server.org)).toMatchObject({
        status: 404,
        body: { detail: 'Not found.' },
      })
      expect((await call(siteId, 'no-uuid', server.org)).status).toBe(404)
      expect((await call('no-uuid', device.id, server.org)).status).toBe(404)
      expect((await call(siteId, device.id, null)).status).toBe(401)
    }
    for (const path of [
      `/orgs/${server.org.orgId}/devices`,
      `/orgs/${server.org.orgId}/stats/devices`,
      `/sites/${siteId}/devices`,
    ])
      expect((await server.call('GET', path, { as: other })).status).toBe(404)
  })

  it('lets a minor role restart a device, but not change it', async () => {
    const device = await newDevice()
    await connectDevice(server.ctx, device.mac)
    const small = await server.addOrg()
    const place = { orgId: server.org.orgId, adminId: small.adminId }
    await addPrivilege(server, place, { scope: 'site', role: 'helpdesk', site_id: siteId })
    const path = `/sites/${siteId}/devices/${device.id}`
    expect((await server.call('PUT', path, { as: small, body: { name: 'x' } })).status).toBe(403)
    expect((await server.call('POST', `${path}/restart`, { as: small, body: {} })).status).toBe(200)
    const stats = await server.call('GET', `/orgs/${server.org.orgId}/stats/devices?type=all&limit=1000`, { as: small })
    expect(new Set(stats.body.map((item: { site_id: string }) => item.site_id))).toEqual(new Set([siteId]))
  })
})

describe('stats', () => {
  it('contain only known values', async () => {
    const device = await newDevice()
    const path = `/sites/${siteId}/stats/devices/${device.id}`
    expect((await server.call('GET', path)).body).toEqual({
      id: device.id,
      org_id: server.org.orgId,
      site_id: siteId,
      mac: device.mac,
      serial: device.serial,
      model: 'AP45',
      type: 'ap',
      name: '',
      status: 'disconnected',
      capabilities: { commands: [], restart_members: [], restart_nodes: [] },
      created_time: expect.any(Number),
      modified_time: expect.any(Number),
    })
    const session = await connectDevice(server.ctx, device.mac, { firmware: '1.2.3', ext_ip: '192.0.2.9' })
    expect((await server.call('GET', path)).body).not.toHaveProperty('uptime')
    const load = { cpu_percent: 12.4, memory_total: 1024 * 1000, memory_free: 1024 * 400 }
    await recordReports(server.ctx, [{ ...session, load, uptimeS: 0, boot: null, firmware: null, telemetry: null }])
    const shown = { progress: 70, status: 'inprogress', status_id: 3, timestamp: 1, will_retry: false } as const
    await setFwUpdate(server.ctx.db, device.id, shown)
    now = new Date(now.getTime() + 90_500)
    expect((await server.call('GET', path)).body).toMatchObject({
      status: 'connected',
      version: '1.2.3',
      uptime: 90,
      ext_ip: '192.0.2.9',
      last_seen: expect.any(Number),
      cpu_util: 12,
      mem_total_kb: 1000,
      mem_used_kb: 600,
      fwupdate: shown,
    })
    await recordEnds(server.ctx, [session])
    const after = (await server.call('GET', path)).body
    expect(after).toMatchObject({ status: 'disconnected', version: '1.2.3' })
    expect(after).not.toHaveProperty('uptime')
  })

  it('show what a device reports of a running update, only forward, and only of its newest session', async () => {
    const device = await newDevice()
    const old = await connectDevice(server.ctx, device.mac)
    const session = await connectDevice(server.ctx, device.mac)
    const report = async (operation: 'download' | 'install' | 'fail' | 'success', percent: number, from = session) => {
      const firmware = { operation, percent }
      await recordReports(server.ctx, [
        { ...from, load: {}, uptimeS: null, boot: null, firmware, telemetry: null },
        { ...from, load: {}, uptimeS: null, boot: null, firmware: null, telemetry: null },
      ])
      return (await listFwUpdates(server.ctx.db, device.id))[0]
    }
    expect(await report('download', 40)).toBeNull()
    const running = { progress: 5, status: 'inprogress', status_id: 7, timestamp: 1, will_retry: true } as const
    await setFwUpdate(server.ctx.db, device.id, running)
    expect(await report('download', 40, old)).toEqual(running)
    const moved = { ...running, progress: 31, status_id: 8, timestamp: now.getTime() / 1000 }
    expect(await report('download', 40)).toEqual(moved)
    for (const operation of ['download', 'fail'] as const) expect(await report(operation, 10)).toEqual(moved)
    expect(await report('success', 0)).toMatchObject({ progress: 90, status: 'inprogress', status_id: 9 })
    const ended = { ...running, status: 'failed' } as const
    await setFwUpdate(server.ctx.db, device.id, ended)
    expect(await report('success', 0)).toEqual(ended)
  })

  it('include the members of a Virtual Chassis', async () => {
    const device = await newDevice('EX4100-48P')
    const member = (position: number, firmware: string) => ({
      member: position,
      mac: position === 0 ? device.mac : '0200000000bb',
      serial: `V${position}`,
      model: 'EX4100-48P',
      firmware,
    })
    const members = [member(0, '24.2R1'), member(1, '23.4R2')]
    await connectDevice(server.ctx, device.mac, { type: 'switch', model: 'EX4100-48P', firmware: '24.2R1', members })
    expect((await server.call('GET', `/sites/${siteId}/stats/devices/${device.id}`)).body).toMatchObject({
      type: 'switch',
      vc_mac: device.mac,
      fw_versions_outofsync: true,
      module_stat: [
        { fpc_idx: 0, serial: 'V0', version: '24.2R1' },
        { fpc_idx: 1, serial: 'V1', version: '23.4R2' },
      ],
    })
  })

  it('are listed by organization and site, by type, status and MAC', async () => {
    const site = await addSite(server, 'Stats')
    const [up, down] = await claimNewDevices(server, 2, { siteId: site })
    const sw = await claimNewDevice(server, { siteId: site, model: 'EX4100-48P' })
    await connectDevice(server.ctx, up?.mac ?? '')
    for (const root of [`/sites/${site}/stats/devices?`, `/orgs/${server.org.orgId}/stats/devices?site_id=${site}&`]) {
      const list = async (query: string) => macsOf((await server.call('GET', `${root}${query}`)).body)
      expect(await list('')).toEqual([up?.mac, down?.mac])
      expect(await list('type=switch')).toEqual([sw.mac])
      expect(await list('status=connected')).toEqual([up?.mac])
      expect(await list('type=all&status=disconnected')).toEqual(expect.arrayContaining([down?.mac, sw.mac]))
      expect(await list(`mac=${down?.mac}`)).toEqual([down?.mac])
      const page = await server.call('GET', `${root}type=all&limit=2&page=9`)
      expect([page.body, page.headers.get('x-page-total')]).toEqual([[], '3'])
      expect((await server.call('GET', `${root}status=asleep`)).status).toBe(400)
    }
  })
})

describe('restart', () => {
  async function commandsOf(device: MadeDevice) {
    return server.ctx.db.selectFrom('deviceCommand').selectAll().where('deviceId', '=', device.id).execute()
  }
  const restart = (device: MadeDevice, body: unknown) =>
    server.call('POST', `/sites/${siteId}/devices/${device.id}/restart`, { body })

  it.each([
    ['an empty object', {}],
    ['zero bytes', ''],
  ])('queues a command, an event and an audit record for %s', async (_what, body) => {
    const device = await newDevice()
    await connectDevice(server.ctx, device.mac)
    let woken = 0
    const stop = server.ctx.wakes.on('commands', () => (woken += 1))
    expect(await restart(device, body)).toMatchObject({ status: 200, body: {} })
    stop()
    expect(woken).toBe(1)
    expect(await commandsOf(device)).toMatchObject([
      { kind: 'restart', params: {}, state: 'queued', siteUpgradeId: null },
    ])
    const events = await server.ctx.db
      .selectFrom('deviceEvent')
      .selectAll()
      .where('deviceId', '=', device.id)
      .where('type', '=', 'AP_RESTART_BY_USER')
      .execute()
    const [audit] = await server.ctx.db
      .selectFrom('auditLog')
      .selectAll()
      .where('message', '=', `Restart device ${device.mac}`)
      .execute()
    expect(events).toMatchObject([{ siteId, warns: false, event: { audit_id: audit?.id } }])
    expect(audit).toMatchObject({ siteId, adminId: server.org.adminId })
    const topics = await server.ctx.db
      .selectFrom('webhookOutbox')
      .select('topic')
      .where('siteId', '=', siteId)
      .execute()
    expect(topics.map(({ topic }) => topic)).toEqual(expect.arrayContaining(['audits', 'device-events']))
  })

  it('reaches one member of a device that supports it', async () => {
    const device = await newDevice('EX4100-48P')
    const capabilities: DeviceCapabilities = {
      ...stockCapabilities('switch'),
      restart_members: [0, 1],
      restart_nodes: ['node0', 'node1'],
    }
    await connectDevice(server.ctx, device.mac, { type: 'switch', capabilities })
    expect((await restart(device, { member: 1 })).status).toBe(200)
    expect((await restart(device, { node: 'node1' })).status).toBe(200)
    expect((await commandsOf(device)).map(({ params }) => params)).toEqual([{ member: 1 }, { node: 'node1' }])
    expect((await restart(device, { member: 7 })).body.detail).toContain('member 7')
    expect((await restart(device, { member: 1, node: 'node0' })).body.detail).toBe(
      'Invalid field node: is node0 beside member 1: only one of the two can be restarted',
    )
  })

  it('refuses before it queues anything', async () => {
    const offline = await newDevice()
    const stock = await newDevice()
    await connectDevice(server.ctx, stock.mac)
    for (const [device, body] of [
      [offline, {}],
      [stock, { member: 0 }],
      [stock, { node: 'node0' }],
      [stock, { member: 10 }],
      [stock, { member: -1 }],
      [stock, { member: '1' }],
      [stock, { member: 1.5 }],
      [stock, { node: 'node2' }],
      [stock, []],
      [stock, '{'],
    ] as const) {
      const answer = await restart(device, body)
      expect(answer, JSON.stringify(body)).toMatchObject({ status: 400, body: { detail: expect.any(String) } })
    }
    expect(await commandsOf(offline)).toEqual([])
    expect(await commandsOf(stock)).toEqual([])
  })
})
