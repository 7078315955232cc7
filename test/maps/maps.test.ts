import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite, claimNewDevice, claimNewDevices } from '../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'

let server: TestServer
let siteId: string
let path: string
beforeAll(async () => {
  server = await startTestServer()
  siteId = await addSite(server)
  path = `/sites/${siteId}/maps`
})
afterAll(() => server.close())

/** Every field of the specification's table, as clients send it. */
const everyField = {
  geofences: [
    {
      name: 'Lobby',
      vertices: [
        { X: 1.5, Y: 2 },
        { X: 3, Y: 4 },
        { X: 5, Y: 6 },
      ],
    },
  ],
  group_idx: 2,
  group_name: 'Tower A',
  height: 800,
  height_m: 20.5,
  latlng_br: { lat: '37.29', lng: '-122.03' },
  latlng_tl: { lat: '37.30', lng: '-122.04' },
  locked: true,
  mapstack_floor: 3,
  mapstack_id: randomUUID(),
  name: 'Third floor',
  occupancy_limit: 120,
  orientation: 90,
  origin_x: 35,
  origin_y: 60,
  ppm: 40.94,
  sitesurvey_path: [
    {
      id: randomUUID(),
      coordinate: 'actual',
      name: 'Default',
      nodes: [{ name: 'N1', position: { x: 100, y: 50.5 }, edges: { N2: '1' } }],
    },
  ],
  type: 'image',
  view: 'hybrid',
  wall_path: { coordinate: 'actual', nodes: [{ name: 'N1', position: { x: 0.25, y: 1 }, edges: {} }] },
  wayfinding: {
    mapvendor: { account_key: 'key', default_level_id: 4 },
    micello: { account_key: 'key', default_level_id: 4, map_id: 'm' },
    snap_to_path: true,
  },
  // Every field of a node is optional in the specification.
  wayfinding_path: { coordinate: 'actual', nodes: [{ name: 'N2' }, {}, { position: { x: 1 } }] },
  width: 1200,
  width_m: 30.75,
  flags: { assetHoldTime: 30, storeTime: 60 },
  'x-ours': { kept: [1, null] },
}

async function add(body: unknown): Promise<string> {
  const answer = await server.call('POST', path, { body })
  expect(answer).toMatchObject({ status: 200 })
  return answer.body.id
}

describe('a map', () => {
  it('is returned as it was sent, with the fields of the service', async () => {
    const made = await server.call('POST', path, { body: everyField })
    expect(made.status).toBe(200)
    const { id, created_time: created, modified_time: modified, ...rest } = made.body
    const own = { org_id: server.org.orgId, site_id: siteId, for_site: true }
    expect(rest).toEqual({ ...everyField, ...own })
    expect(modified).toBe(created)
    expect(await server.call('GET', `${path}/${id}`)).toMatchObject({ status: 200, body: made.body })
  })

  it('has the defaults of the specification, and no other unset field', async () => {
    const { body } = await server.call('POST', path, { body: {} })
    expect(Object.keys(body).sort()).toEqual(
      [
        'created_time',
        'flags',
        'for_site',
        'id',
        'locked',
        'modified_time',
        'org_id',
        'orientation',
        'site_id',
        'type',
      ].sort(),
    )
    expect(body).toMatchObject({ locked: false, orientation: 0, type: 'image' })
  })

  it.each(['google', 'map_vendor'])('of type %s is returned as it was sent', async (type) => {
    const body = { type, view: null, wayfinding: { mapvendor: { map_id: 'a' } } }
    expect((await server.call('POST', path, { body })).body).toMatchObject(body)
  })

  it('is updated field by field, loses unset fields, and keeps the fields of the service', async () => {
    const id = await add({ name: 'Old', ppm: 10, wall_path: { nodes: [] }, '-ppm': '' })
    const change = { name: 'New', '-wall_path': '', id, site_id: siteId }
    for (const other of [{ id: randomUUID() }, { site_id: randomUUID() }, { url: 'https://x.test' }])
      expect(await server.call('PUT', `${path}/${id}`, { body: { ...change, ...other } })).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining(`Invalid field ${Object.keys(other).join()}: `) },
      })
    const { body } = await server.call('PUT', `${path}/${id}`, { body: change })
    expect(body).toMatchObject({ id, site_id: siteId, name: 'New' })
    for (const gone of ['ppm', 'wall_path', 'url']) expect(body).not.toHaveProperty(gone)
  })

  it('always has flags, which a write may set', async () => {
    const defaults = { assetHoldTime: 0, storeTime: 0 }
    const id = await add({ name: 'Flagged' })
    const one = `${path}/${id}`
    expect((await server.call('GET', one)).body.flags).toEqual(defaults)
    const flags = { storeTime: 60, later: 1 }
    expect((await server.call('PUT', one, { body: { flags } })).body.flags).toEqual({ ...defaults, ...flags })
    expect((await server.call('PUT', one, { body: { name: 'x' } })).body.flags).toEqual({ ...defaults, ...flags })
    expect((await server.call('PUT', one, { body: { '-flags': '' } })).body.flags).toEqual(defaults)
    for (const bad of [1, { storeTime: 'x' }, { later: 0.5 }])
      expect(await server.call('PUT', one, { body: { flags: bad } })).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining('flags') },
      })
  })

  it('gives ids to survey paths, and keeps them when the paths are written again', async () => {
    const kept = { name: 'Kept', id: randomUUID() }
    const { body } = await server.call('POST', path, { body: { sitesurvey_path: [{ name: 'New' }, kept] } })
    const paths = [{ name: 'New', id: expect.stringMatching(/^[0-9a-f-]{36}$/) }, kept]
    expect(body.sitesurvey_path).toEqual(paths)
    for (const sent of [body.sitesurvey_path, [{ name: 'New', id: '' }, { name: 'Kept' }]]) {
      const written = await server.call('PUT', `${path}/${body.id}`, { body: { sitesurvey_path: sent } })
      expect(written.body.sitesurvey_path).toEqual(body.sitesurvey_path)
    }
  })

  it('has audit records with its state before and after', async () => {
    const id = await add({ name: 'Audited' })
    await server.call('PUT', `${path}/${id}`, { body: { ppm: 3 } })
    await server.call('DELETE', `${path}/${id}`)
    const logs = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=3`)
    expect(logs.body.results).toMatchObject([
      { message: 'Delete Map "Audited"', site_id: siteId, before: { name: 'Audited', ppm: 3, map_id: id } },
      {
        message: 'Update Map "Audited"',
        before: { name: 'Audited', map_id: id },
        after: { name: 'Audited', map_id: id, ppm: 3 },
      },
      { message: 'Add Map "Audited"', after: { name: 'Audited', map_id: id } },
    ])
  })

  it('has audit records without the keys of its services', async () => {
    const wayfinding = { micello: { account_key: 'key-of-micello', map_id: 'm' } }
    const id = await add({ name: 'Keyed', wayfinding })
    await server.call('PUT', `${path}/${id}`, { body: { ppm: 3 } })
    await server.call('DELETE', `${path}/${id}`)
    const logs = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=3`)
    expect(logs.body.results[2]).toMatchObject({ after: { wayfinding: { micello: { map_id: 'm' } } } })
    expect(JSON.stringify(logs.body)).not.toContain('key-of-micello')
  })

  it('has a maximum size', async () => {
    const id = await add({ name: 'Large' })
    const part = 'x'.repeat(400_000)
    expect(await server.call('PUT', `${path}/${id}`, { body: { first: part } })).toMatchObject({ status: 200 })
    const refused = await server.call('PUT', `${path}/${id}`, { body: { second: part } })
    expect(refused).toMatchObject({ status: 413, body: { detail: expect.stringMatching(/at most 524288 bytes/) } })
    expect((await server.call('PUT', `${path}/${id}`, { body: { '-first': '', second: part } })).status).toBe(200)
  })

  it('is listed in pages, and only at its site', async () => {
    const elsewhere = await addSite(server, 'Paged')
    for (const name of ['a', 'b', 'c']) await server.call('POST', `/sites/${elsewhere}/maps`, { body: { name } })
    const page = await server.call('GET', `/sites/${elsewhere}/maps?limit=2&page=2`)
    expect(page.body).toMatchObject([{ name: 'c' }])
    expect(page.headers.get('x-page-total')).toBe('3')
    const id = page.body[0].id
    expect((await server.call('GET', `${path}/${id}`)).status).toBe(404)
    expect((await server.call('DELETE', `${path}/${id}`)).status).toBe(404)
    expect((await server.call('PUT', `${path}/${id}`, { body: {} })).status).toBe(404)
  })

  it('is not found after it was deleted', async () => {
    const id = await add({})
    expect(await server.call('DELETE', `${path}/${id}`)).toMatchObject({ status: 200, body: {} })
    expect((await server.call('GET', `${path}/${id}`)).status).toBe(404)
    expect((await server.call('DELETE', `${path}/${id}`)).status).toBe(404)
  })
})

describe('devices', () => {
  const put = (id: string, body: unknown) => server.call('PUT', `/sites/${siteId}/devices/${id}`, { body })
  const get = async (id: string) => (await server.call('GET', `/sites/${siteId}/devices/${id}`)).body

  it('are placed on a map together, except locked ones', async () => {
    const [first, second, third] = await claimNewDevices(server, 3, { siteId })
    if (first === undefined || second === undefined || third === undefined) throw new Error('no devices')
    const mapId = await add({ name: 'Hall' })
    const other = await add({ name: 'Other' })
    await put(first.id, { map_id: other, x: 5, y: 6, height: 2.5 })
    await put(second.id, { locked: true })
    await put(third.id, { map_id: mapId, x: 7, y: 8 })
    const macs = [first.mac.toUpperCase(), second.mac, third.mac.replaceAll(/(..)(?=.)/g, '$1:')]
    const answer = await server.call('POST', `${path}/${mapId.toUpperCase()}/set_map`, { body: { macs } })
    expect(answer).toMatchObject({ status: 200, body: { locked: [second.mac] } })
    expect(answer.body.moved.sort()).toEqual([first.mac, third.mac].sort())
    // Its position on the other map is meaningless here; its height is its own.
    expect(await get(first.id)).toMatchObject({ map_id: mapId, height: 2.5 })
    expect(await get(first.id)).not.toHaveProperty('x')
    expect(await get(second.id)).not.toHaveProperty('map_id')
    expect(await get(third.id)).toMatchObject({ map_id: mapId, x: 7, y: 8 })
  })

  it('of another site, or unknown ones, make the request move no device', async () => {
    const mine = await claimNewDevice(server, { siteId })
    const foreign = await claimNewDevice(server, { siteId: await addSite(server, 'Foreign') })
    const mapId = await add({})
    const set = (macs: unknown) => server.call('POST', `${path}/${mapId}/set_map`, { body: { macs } })
    const refused = await set([mine.mac, foreign.mac])
    expect(refused).toMatchObject({ status: 400, body: { detail: expect.stringContaining('Invalid field macs.1: ') } })
    expect(await get(mine.id)).not.toHaveProperty('map_id')
    expect(await set(['nonsense'])).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field macs.0: ') },
    })
    for (const macs of [[], 'x', [mine.mac, mine.mac], undefined])
      expect(await set(macs)).toMatchObject({ status: 400, body: { detail: expect.stringMatching(/macs/) } })
  })

  it('are placed only on maps of their own site, and removed from them when they leave it', async () => {
    const elsewhere = await addSite(server, 'Next')
    const device = await claimNewDevice(server, { siteId })
    const id = device.id
    const foreign = await server.call('POST', `/sites/${elsewhere}/maps`, { body: {} })
    for (const mapId of [foreign.body.id, randomUUID(), 'x', '', 5, {}]) {
      const answer = await put(id, { map_id: mapId, name: 'changed' })
      expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining('Invalid field map_id: ') } })
    }
    expect(await get(id)).toMatchObject({ name: '' })
    const mapId = await add({})
    expect(await put(id, { map_id: mapId, x: 1, y: 2, height: 3 })).toMatchObject({ status: 200 })
    const assign = (site: string) =>
      server.call('PUT', `/orgs/${server.org.orgId}/inventory`, {
        body: { op: 'assign', site_id: site, macs: [device.mac], managed: true },
      })
    await assign(siteId)
    expect(await get(id)).toMatchObject({ map_id: mapId, x: 1, y: 2 })
    await assign(elsewhere)
    const moved = (await server.call('GET', `/sites/${elsewhere}/devices/${id}`)).body
    expect(moved).toMatchObject({ height: 3 })
    for (const gone of ['map_id', 'x', 'y']) expect(moved).not.toHaveProperty(gone)
  })

  it('are on no map once theirs is deleted', async () => {
    const device = await claimNewDevice(server, { siteId })
    const id = device.id
    const mapId = await add({})
    await put(id, { map_id: mapId.toUpperCase(), x: 1, y: 2, orientation: 45, height: 3 })
    await server.call('DELETE', `${path}/${mapId}`)
    const body = await get(id)
    expect(body).toMatchObject({ orientation: 45, height: 3 })
    for (const gone of ['map_id', 'x', 'y']) expect(body).not.toHaveProperty(gone)
  })
})

describe('wayfinding', () => {
  const account = { account_key: 'key', default_level_id: 7, map_id: randomUUID() }
  const link = (mapId: string, body: object) => server.call('POST', `${path}/${mapId}/wayfinding/import`, { body })

  it.each(['micello', 'mapvendor'])('of %s is linked, in addition to the stored data', async (vendor) => {
    const id = await add({ wayfinding: { snap_to_path: true } })
    expect(await link(id, { vendor_name: vendor, ...account })).toMatchObject({ status: 200, body: {} })
    const { body } = await server.call('GET', `${path}/${id}`)
    expect(body.wayfinding).toEqual({ snap_to_path: true, [vendor]: account })
  })

  it.each(['micello', 'mapvendor'])(
    'keeps the map of %s when a client writes its account without it',
    async (vendor) => {
      const id = await add({})
      await link(id, { vendor_name: vendor, ...account })
      const { map_id, ...rest } = account
      const put = async (mapvendor: object) =>
        (await server.call('PUT', `${path}/${id}`, { body: { wayfinding: { mapvendor } } })).body.wayfinding
      expect(await put(rest)).toEqual({ mapvendor: { ...rest, map_id } })
      expect(await put({ ...rest, map_id: 'own' })).toEqual({ mapvendor: { ...rest, map_id: 'own' } })
      expect(await put({ account_key: 'another' })).toEqual({ mapvendor: { account_key: 'another' } })
    },
  )

  it('of a service that Signalbox would have to call is refused', async () => {
    const id = await add({})
    const own = {
      client_id: randomUUID(),
      client_secret: 's',
      customer_id: 1,
      endpoint_url: 'https://maps.example.test',
    }
    const theirs = { ...own, map_id: account.map_id, mmpp: 20, ppm: 50, venue_id: 2 }
    const refused = await link(id, { vendor_name: 'jibestream', ...theirs })
    expect(refused).toMatchObject({ status: 400, body: { reason: "maps of jibestream can't be fetched" } })
    const mixed = await link(id, { vendor_name: 'micello', ...account, venue_id: 2 })
    expect(mixed).toMatchObject({ status: 400, body: { detail: 'Invalid field venue_id: is not a field of micello' } })
    const { map_id: _, ...rest } = account
    const missing = await link(id, { vendor_name: 'micello', ...rest })
    expect(missing).toMatchObject({ status: 400, body: { detail: expect.stringContaining('Invalid field map_id: ') } })
    expect((await link(randomUUID(), { vendor_name: 'micello', ...account })).status).toBe(404)
  })
})

describe('map stacks', () => {
  it('are created and found by name', async () => {
    const stacks = `/sites/${siteId}/mapstacks`
    const made = await server.call('POST', stacks, { body: { name: 'Tower 100%', id: 'x', note: 'kept' } })
    expect(made).toMatchObject({ status: 200, body: { name: 'Tower 100%', site_id: siteId, note: 'kept' } })
    await server.call('POST', stacks, { body: {} })
    const found = await server.call('GET', `${stacks}?name=tower%20100%25`)
    expect(found.body).toEqual([made.body])
    expect(found.headers.get('x-page-total')).toBe('1')
    expect((await server.call('GET', stacks)).body).toHaveLength(2)
    expect(await server.call('POST', stacks, { body: { name: 1 } })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field name: ') },
    })
    const map = await server.call('POST', path, { body: { mapstack_id: made.body.id, mapstack_floor: 0 } })
    expect(map.body).toMatchObject({ mapstack_id: made.body.id, mapstack_floor: 0 })
  })
})
