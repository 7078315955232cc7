import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordEnds } from '../../support/fleets/record.ts'
import {
  type MadeDevice,
  addSite,
  claimNewDevice,
  claimNewDevices,
  connectDevice,
} from '../../support/fleets/devices.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let siteId: string
let aps: MadeDevice[]
let loose: MadeDevice[]
let switches: MadeDevice[]
beforeAll(async () => {
  server = await startTestServer()
  siteId = await addSite(server)
  aps = await claimNewDevices(server, 5, { siteId })
  loose = await claimNewDevices(server, 2, { model: 'AP34' })
  switches = await claimNewDevices(server, 1, { siteId, model: 'EX4100-48P' })
  await connectDevice(server.ctx, aps[0]?.mac ?? '', { firmware: '7.1' })
  await server.call('PUT', `/sites/${siteId}/devices/${aps[1]?.id}`, { body: { name: 'Lobby 1' } })
})
afterAll(() => server.close())

const org = (path: string): Promise<Answer> => server.call('GET', `/orgs/${server.org.orgId}/${path}`)
const site = (path: string): Promise<Answer> => server.call('GET', `/sites/${siteId}/${path}`)
const macsOf = (items: { mac: string }[]): string[] => items.map(({ mac }) => mac)
const macs = (devices: MadeDevice[]): string[] => devices.map(({ mac }) => mac)

describe('search', () => {
  it('finds access points of the organization, and other types on request', async () => {
    const { body } = await org('devices/search?sort=mac')
    expect(macsOf(body.results)).toEqual(macs([...aps, ...loose]).sort())
    expect(body).toMatchObject({ total: 7, limit: 100, start: expect.any(Number), end: expect.any(Number) })
    expect(body.results[0]).toMatchObject({ wlans: [], mxtunnel_status: 'down', power_constrained: false })
    for (const query of ['type=ap', 'type=all'])
      for (const hit of (await org(`devices/search?${query}`)).body.results)
        expect(hit.type).toBe('wlans' in hit ? undefined : 'switch')
    expect(macsOf((await org('devices/search?type=switch')).body.results)).toEqual(macs(switches))
    expect((await org('devices/search?model=AP34')).body.total).toBe(2)
    expect((await org('devices/search?type=all')).body.total).toBe(8)
    expect((await site('devices/search?type=all')).body.total).toBe(6)
  })

  it('orders by the last change, the newest first, and equal ones by MAC', async () => {
    const { results } = (await org('devices/search')).body
    expect(results[0]).toMatchObject({ mac: aps[1]?.mac, hostname: ['Lobby 1'] })
    const ascending = (await org('devices/search?sort=timestamp')).body.results
    expect(macsOf(ascending)).toEqual(macsOf(results).reverse())
  })

  it('follows the links of pages to the end', async () => {
    const found: string[] = []
    for (let url: string | undefined = `/api/v1/orgs/${server.org.orgId}/devices/search?limit=3`; url !== undefined;) {
      const { body } = await server.call('GET', url.replace('/api/v1', ''))
      found.push(...macsOf(body.results))
      url = body.next
    }
    expect([...found].sort()).toEqual(macs([...aps, ...loose]).sort())
    expect((await org('devices/search?page=9')).body).toMatchObject({ total: 7, results: [] })
  })

  it.each([
    ['hostname=lobby', 1],
    ['hostname=lobby&last_hostname=1', 1],
    ['hostname=lobby&last_hostname=2', 0],
    ['version=7.1', 1],
    ['ext_ip=192.0.2.7', 1],
    ['mac=AA:BB:CC:DD:EE:FF', 0],
    ['band_5_channel=36', 0],
    ['band_5_channel=0', 7],
    ['mxtunnel_status=up', 0],
    ['mxtunnel_status=down', 7],
    ['power_constrained=True', 0],
    ['end=0', 0],
    ['duration=1h', 7],
  ])('finds %i when filtered by %s', async (query, total) => {
    expect((await org(`devices/search?${query}`)).body.total).toBe(total)
  })

  it.each(['mac=x', 'type=toaster', 'sort=colour', 'site_id=1', 'duration=x'])('refuses %s', async (query) => {
    expect(await org(`devices/search?${query}`)).toMatchObject({ status: 400, body: { detail: expect.any(String) } })
  })
})

describe('count', () => {
  it('counts by model, site and values that devices reported', async () => {
    expect((await org('devices/count')).body).toMatchObject({
      distinct: 'model',
      total: 2,
      results: [
        { model: 'AP45', count: 5 },
        { model: 'AP34', count: 2 },
      ],
    })
    expect((await org('devices/count?distinct=site_id')).body.results).toEqual([
      { site_id: siteId, count: 5 },
      { count: 2 },
    ])
    expect((await org('devices/count?distinct=version&version=7.1')).body.results).toEqual([
      { version: '7.1', count: 1 },
    ])
    expect((await org('devices/count?distinct=mxedge_id')).body).toMatchObject({ total: 0, results: [] })
    expect((await site('devices/count')).body.results).toEqual([
      { model: 'AP45', count: 5 },
      { model: 'EX4100-48P', count: 1 },
    ])
  })

  it('includes every assignment and every deletion', async () => {
    const there = await addSite(server, 'There')
    const [one] = await claimNewDevices(server, 2, { siteId: there, model: 'AP63' })
    const count = async () => (await org('devices/count?distinct=site_id&model=AP63')).body.results
    const inventory = `/orgs/${server.org.orgId}/inventory`
    expect(await count()).toEqual([{ site_id: there, count: 2 }])
    await server.call('PUT', inventory, { body: { op: 'unassign', macs: [one?.mac] } })
    expect(await count()).toEqual(expect.arrayContaining([{ site_id: there, count: 1 }]))
    await server.call('PUT', inventory, { body: { op: 'delete', macs: [one?.mac] } })
    expect(await count()).toEqual([{ site_id: there, count: 1 }])
    // The rows must agree, not only the counters.
    expect((await server.call('GET', `${inventory}?model=AP63`)).headers.get('x-page-total')).toBe('1')
    expect((await server.call('GET', `${inventory}?model=AP63`)).body).toHaveLength(1)
  })
})

it('a summary counts devices by type, and those without a site', async () => {
  const before = (await org('devices/summary')).body
  await claimNewDevices(server, 2, { model: 'SRX300' })
  const mxedge = await server.call('POST', `/orgs/${server.org.orgId}/mxedges`, {
    body: { name: 'Edge', model: 'ME-VM' },
  })
  expect(mxedge.status, JSON.stringify(mxedge.body)).toBe(200)
  expect((await org('devices/summary')).body).toEqual({
    ...before,
    num_gateways: before.num_gateways + 2,
    num_unassigned_gateways: before.num_unassigned_gateways + 2,
    num_mxedges: 1,
  })
})

it('pages in the second half are read from the end, and no row is missing', async () => {
  const all = (await org('inventory?limit=1000')).body
  for (const limit of [1, 2, 3, 4]) {
    const pages = Math.ceil(all.length / limit)
    const found = await Promise.all(
      Array.from({ length: pages }, async (_, index) => (await org(`inventory?limit=${limit}&page=${index + 1}`)).body),
    )
    expect(found.flat()).toEqual(all)
  }
})

describe('inventory', () => {
  it('is searched by properties of devices', async () => {
    const { body } = await org('inventory/search?limit=2&sort=mac')
    expect(body).toMatchObject({ limit: 2, page: 1, total: 8, next: expect.stringContaining('page=2') })
    expect(macsOf((await org(`inventory/search?text=${aps[2]?.serial.slice(3)}`)).body.results)).toEqual([aps[2]?.mac])
    expect((await org('inventory/search?status=connected')).body.results).toMatchObject([
      { mac: aps[0]?.mac, version: '7.1', status: 'connected', site_id: siteId, name: '' },
    ])
    for (const [query, total] of Object.entries({ 'model=AP34': 2, 'type=switch': 1, 'sku=X': 0, 'master=true': 0 }))
      expect((await org(`inventory/search?${query}`)).body.total, query).toBe(total)
    expect((await org('inventory/search?vc_mac=x')).status).toBe(400)
  })

  it('is searched by claim codes in any spelling', async () => {
    const code = aps[3]?.claim_code ?? ''
    const dashed = code.replaceAll(/(.{5})(?!$)/g, '$1-')
    for (const magic of [
      code,
      dashed,
      dashed.toLowerCase(),
      `${dashed.slice(0, 12).toLowerCase()}*`,
      `*${dashed.slice(3)}`,
    ])
      expect(macsOf((await org(`inventory/search?magic=${magic}`)).body.results), magic).toEqual([aps[3]?.mac])
    expect((await org('inventory/search?magic=---')).body.total).toBe(0)
  })

  it.each(['inventory/search', 'devices/search'])('%s refuses a sort by what no device reports', async (search) => {
    const { status, body } = await org(`${search}?sort=evpntopo_id`)
    expect([status, body.detail]).toEqual([400, expect.stringContaining('sort')])
  })

  it.each(['asc', 'desc'])('puts devices without a value last, %sending', async (direction) => {
    const minus = direction === 'desc' ? '-' : ''
    for (const field of ['last_hostname', 'version', 'ext_ip', 'last_seen']) {
      const whole = (await org(`devices/search?sort=${minus}${field}`)).body.results
      const values = whole.map((row: AnyJson) => row[field] ?? null)
      expect(values.lastIndexOf(null), field).toBe(values.length - 1)
      expect(values[0], field).not.toBeNull()
      const pages = await Promise.all(
        [1, 2, 3, 4].map((page) => org(`devices/search?limit=2&page=${page}&sort=${minus}${field}`)),
      )
      expect(
        pages.flatMap(({ body }) => macsOf(body.results)),
        field,
      ).toEqual(macsOf(whole))
    }
  })

  it('includes the members of a Virtual Chassis with it', async () => {
    const chassis = await claimNewDevice(server, { model: 'EX4400-24P' })
    const mac = chassis.mac
    const members = [mac, 'aabbccddee99'].map((of, member) => ({
      member,
      mac: of,
      serial: `S${of}`,
      model: 'EX4400-24P',
      firmware: '1',
    }))
    await connectDevice(server.ctx, mac, { type: 'switch', model: 'EX4400-24P', members })
    const found = (await org(`inventory/search?type=switch&vc_mac=${mac}`)).body
    expect(found.results).toMatchObject([
      { mac, master: true, vc_mac: mac, members: [{ mac }, { mac: 'aabbccddee99' }] },
    ])
    const both = (other: string) => org(`inventory/search?type=all&vc_mac=${mac}&master_mac=${other}`)
    expect((await both(mac)).body.total).toBe(1)
    expect((await both('aabbccddee99')).body.total).toBe(0)
  })

  it('lists a member once if it has moved to another Virtual Chassis', async () => {
    const [left, joined] = await claimNewDevices(server, 2, { model: 'EX4400-48P' })
    const connect = (mac: string) =>
      connectDevice(server.ctx, mac, {
        type: 'switch',
        model: 'EX4400-48P',
        members: [mac, 'aabbccddee97'].map((of, member) => ({
          member,
          mac: of,
          serial: `S${of}`,
          model: 'EX4400-48P',
          firmware: '1',
        })),
      })
    const { deviceId, epoch } = await connect(left?.mac ?? '')
    await recordEnds(server.ctx, [{ deviceId, epoch }])
    await connect(joined?.mac ?? '')
    const { body, headers } = await org('inventory?vc=true&model=EX4400-48P')
    expect(macsOf(body).sort()).toEqual(
      [...macs([left, joined].filter((one) => one !== undefined)), 'aabbccddee97'].sort(),
    )
    expect(headers.get('x-page-total')).toBe('3')
    expect(body).toContainEqual(expect.objectContaining({ mac: 'aabbccddee97', vc_mac: joined?.mac, connected: true }))
  })

  it('shows the profile that a client assigned to a device', async () => {
    const one = await claimNewDevice(server, { siteId, model: 'AP63' })
    const deviceprofile_id = '6f4bf402-45f9-2a56-6c8b-7f83d3bc98e9'
    await server.call('PUT', `/sites/${siteId}/devices/${one.id}`, { body: { deviceprofile_id } })
    expect((await org(`inventory?mac=${one.mac}`)).body).toMatchObject([{ deviceprofile_id }])
    expect((await org(`inventory?mac=${aps[0]?.mac}`)).body[0]).not.toHaveProperty('deviceprofile_id')
  })

  it('is counted by model, status, site and version', async () => {
    expect((await org('inventory/count')).body.results[0]).toEqual({ model: 'AP45', count: 5 })
    expect((await org('inventory/count?distinct=status')).body.results).toContainEqual({
      status: 'connected',
      count: 1,
    })
    expect((await org('inventory/count?distinct=sku')).body).toMatchObject({
      distinct: 'sku',
      total: 1,
      results: [{ count: expect.any(Number) }],
    })
  })
})
