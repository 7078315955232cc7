import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AnyJson } from '../support/contract/any-json.ts'
import { addPerson } from '../support/people.ts'
import { type MadeDevice, addSite, claimNewDevices } from '../support/fleets/devices.ts'
import { type Answer, type TestServer, startTestServer } from '../support/servers/server.ts'
import { ekahau, zip } from './bundles.ts'
import { type Part, hollowPng, picture, postForm } from './pictures.ts'

/** Decoders yield the processors to everything else. */
vi.setConfig({ testTimeout: 120_000 })

let server: TestServer
let plan: Buffer
let siteId: string
let path: string
beforeAll(async () => {
  server = await startTestServer()
  plan = await picture(400, 200)
})
afterAll(() => server.close())
beforeEach(async () => {
  siteId = await addSite(server, `Site ${randomUUID()}`)
  path = `/sites/${siteId}/maps/import`
})

const options = (more: object = {}) => JSON.stringify({ vendor_name: 'ekahau', ...more })
const bundle = (bytes: Buffer): Part => ({ bytes, type: 'application/zip', name: 'project.esx' })
const send = async (file: Buffer, parts: Record<string, Part> = {}): Promise<Answer> =>
  postForm(server, path, { json: options(), file: bundle(file), ...parts })
const device = async (id: string): Promise<AnyJson> => (await server.call('GET', `/sites/${siteId}/devices/${id}`)).body
const maps = async (): Promise<AnyJson> => (await server.call('GET', `/sites/${siteId}/maps`)).body

async function two(traits: { siteId?: string } = {}): Promise<[MadeDevice, MadeDevice]> {
  const [first, second] = await claimNewDevices(server, 2, traits)
  if (first === undefined || second === undefined) throw new Error('no devices')
  return [first, second]
}

async function stored(): Promise<string[]> {
  const dir = join(server.dataDir, 'images')
  return [...(await readdir(dir)), ...(await readdir(join(dir, 'incoming')))].filter((name) => name !== 'incoming')
}

describe('an Ekahau project', () => {
  it('becomes maps with images and scale, with its access points at their drawn positions', async () => {
    const [first, second] = await two({ siteId })
    await server.call('PUT', `/sites/${siteId}/devices/${second.id}`, { body: { name: 'Lobby' } })
    const aps = {
      [first.mac.toUpperCase()]: { x: 50, y: 25, antennaHeight: 2.4, antennaDirection: 359.7 },
      Lobby: { x: 100, y: 50, antennaHeight: 3, antennaDirection: -90 },
      Unknown: { x: 1, y: 1 },
    }
    const answer = await send(
      await ekahau([
        { name: 'Ground', picture: plan, aps },
        { name: 'Empty', picture: plan },
      ]),
    )
    expect(answer.status).toBe(200)
    const [map] = await maps()
    expect(await maps()).toHaveLength(1)
    expect(map).toMatchObject({ name: 'Ground', width: 400, height: 200, ppm: 20, width_m: 20, height_m: 10 })
    expect((await fetch(map.url)).status).toBe(200)
    expect(answer.body).toMatchObject({
      site_id: siteId,
      aps: [
        { mac: first.mac, action: 'placed', map_id: map.id, height: 2.4, orientation: 0 },
        { mac: second.mac, action: 'placed', map_id: map.id, height: 3, orientation: 270 },
        { mac: '', name: 'Unknown', action: 'ignored', orientation: 0, reason: expect.any(String) },
      ],
      floorplans: [
        { name: 'Ground', action: 'imported', map_id: map.id },
        { name: 'Empty', action: 'ignored', reason: expect.any(String) },
      ],
      summary: { num_ap_assigned: 2, num_inv_assigned: 0, num_map_assigned: 1 },
    })
    expect(await device(first.id)).toMatchObject({ map_id: map.id, x: 100, y: 50, height: 2.4, orientation: 0 })
    expect(await device(second.id)).toMatchObject({ name: 'Lobby', x: 200, y: 100, orientation: 270 })
    const logs = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=2`)
    expect(logs.body.results.map(({ message }: AnyJson) => message)).toEqual([
      'Import 1 maps, place 2 devices',
      'Add Map "Ground"',
    ])
  })

  it('imports floors without access points, heights or directions if the request says so', async () => {
    const [first] = await two({ siteId })
    const aps = { [first.mac]: { x: 1, y: 1, antennaHeight: 9, antennaDirection: 9 } }
    const json = options({ import_all_floorplans: true, import_height: false, import_orientation: false })
    const { body } = await send(
      await ekahau([
        { name: 'A', picture: plan, aps },
        { name: 'B', picture: plan },
      ]),
      { json },
    )
    expect(body.summary).toMatchObject({ num_map_assigned: 2 })
    expect(await device(first.id)).not.toHaveProperty('height')
    expect(await device(first.id)).not.toHaveProperty('orientation')
  })

  it('assigns devices of the inventory to the site, with the names of the list', async () => {
    const [first, second] = await two()
    const aps = { 'Hall 1': { x: 1, y: 2 }, [`Hall 2 - ${second.mac}`]: { x: 3, y: 4 } }
    const file = await ekahau([{ name: 'A', picture: plan, aps }])
    const csv = { bytes: `\uFEFFVendor AP name,AP Mac\r\nHall 1,${first.mac}\r\n`, type: 'text/csv' }
    const { body } = await send(file, { csv })
    expect(body).toMatchObject({
      aps: [
        { mac: first.mac, action: 'assigned-named-placed' },
        { mac: second.mac, action: 'assigned-placed' },
      ],
      summary: { num_ap_assigned: 2, num_inv_assigned: 2 },
    })
    expect(await device(first.id)).toMatchObject({ name: 'Hall 1', site_id: siteId, x: 2, y: 4 })
    const events = await server.ctx.db
      .selectFrom('deviceEvent')
      .select('type')
      .where('deviceId', '=', first.id)
      .execute()
    expect(events.map(({ type }) => type)).toContain('AP_ASSIGNED')
    const again = await send(file, { csv: `Hall 1,${first.mac}` })
    expect(again.body.aps).toMatchObject([{ action: 'placed' }, { action: 'placed' }])
  })

  it('does not change devices that are locked, placed already, or in another site', async () => {
    const [locked, twice] = await two({ siteId })
    const [foreign] = await two({ siteId: await addSite(server, 'Foreign') })
    await server.call('PUT', `/sites/${siteId}/devices/${locked.id}`, { body: { locked: true } })
    const at = { x: 1, y: 1 }
    const aps = { [locked.mac]: at, [twice.mac]: at, [`again ${twice.mac}`]: { x: 9, y: 9 }, [foreign.mac]: at }
    const { body } = await send(await ekahau([{ name: 'A', picture: plan, aps }]))
    expect(body.aps.map(({ reason }: AnyJson) => reason)).toEqual([
      'locked',
      undefined,
      'placed already',
      'assigned to another site',
    ])
    expect(await device(twice.id)).toMatchObject({ x: 2 })
  })

  it('with a vector image becomes a map without an image', async () => {
    const file = await ekahau([{ name: 'Vectors', format: 'SVG', picture: Buffer.from('<svg/>') }])
    const { body } = await send(file, { json: options({ import_all_floorplans: true }) })
    expect(body.floorplans).toMatchObject([{ action: 'imported', reason: 'its picture is neither PNG nor JPEG' }])
    expect(await maps()).toMatchObject([{ width: 200, height: 100 }])
    expect((await maps())[0]).not.toHaveProperty('url')
  })
})

describe('other imports', () => {
  it('a zip file of images becomes maps with their names', async () => {
    const jpeg = await picture(30, 20, { format: 'jpeg' })
    const file = await zip({ 'plans/First floor.png': plan, 'b.JPG': jpeg, 'readme.txt': 'x', '__MACOSX/._b.JPG': 'x' })
    const { body } = await send(file, { json: options({ vendor_name: 'images' }) })
    expect(body.summary).toEqual({ num_ap_assigned: 0, num_inv_assigned: 0, num_map_assigned: 2 })
    expect((await maps()).map(({ name, width }: AnyJson) => [name, width])).toEqual([
      ['First floor', 400],
      ['b', 30],
    ])
  })

  it("an organization's import names the site by id or by name", async () => {
    const file = await ekahau([{ name: 'A', picture: plan }])
    const org = `/orgs/${server.org.orgId}`
    const to = (at: string, more: object = {}) =>
      postForm(server, at, { json: options({ import_all_floorplans: true, ...more }), file: bundle(file) })
    expect(await to(`${org}/maps/import`, { site_id: siteId })).toMatchObject({
      status: 200,
      body: { site_id: siteId },
    })
    expect(await to(`${org}/maps/import`)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field site_id: ') },
    })
    expect((await to(`${org}/maps/import`, { site_id: randomUUID() })).status).toBe(404)
    const name = (await server.call('GET', `/sites/${siteId}`)).body.name
    for (const spelled of [encodeURIComponent(name), name.replaceAll(' ', '+')])
      expect((await to(`${org}/sites/${spelled}/maps/import`)).body.site_id).toBe(siteId)
    expect((await to(`/installer${org}/sites/${encodeURIComponent(name)}/maps/import`)).status).toBe(200)
    expect((await to(`${org}/sites/nowhere/maps/import`)).status).toBe(404)
    expect(await maps()).toHaveLength(4)
  })

  it('installers place recently claimed devices, and neither move nor rename any others', async () => {
    const [fresh, old] = await two({ siteId })
    const [stored] = await two()
    const day = 86_400_000
    await server.ctx.db
      .updateTable('device')
      .set({ createdAt: new Date(Date.now() - 400 * day) })
      .where('id', '=', old.id)
      .execute()
    const installer = await addPerson(server, [{ scope: 'org', role: 'installer' }])
    const aps = { A: { x: 1, y: 1 }, [old.mac]: { x: 2, y: 2 }, B: { x: 3, y: 3 }, [stored.mac]: { x: 4, y: 4 } }
    const file = bundle(await ekahau([{ name: 'A', picture: plan, aps }]))
    const csv = `A,${fresh.mac}\nB,${old.mac}`
    const { name } = (await server.call('GET', `/sites/${siteId}`)).body
    const at = `/installer/orgs/${server.org.orgId}/sites/${encodeURIComponent(name)}/maps/import`
    const { status, body } = await postForm(server, at, { json: options(), file, csv }, installer)
    expect(status).toBe(200)
    expect(body.aps.map(({ mac, action }: AnyJson) => [mac, action])).toEqual([
      [fresh.mac, 'named-placed'],
      ['', 'ignored'],
      ['', 'ignored'],
      [stored.mac, 'ignored'],
    ])
    expect(await device(fresh.id)).toMatchObject({ name: 'A', map_id: body.floorplans[0].map_id })
    expect(await device(old.id)).toMatchObject({ name: '' })
    expect(await device(old.id)).not.toHaveProperty('map_id')
    const setting = `/orgs/${server.org.orgId}/setting`
    await server.call('PUT', setting, { body: { installer: { allow_all_devices: true } } })
    const again = await postForm(server, at, { json: options(), file, csv }, installer)
    await server.call('PUT', setting, { body: { '-installer': '' } })
    expect(again.body.aps[1]).toMatchObject({ mac: old.mac, action: 'placed' })
  })
})

describe('an invalid import', () => {
  const wide = { floorPlans: [{ id: randomUUID(), name: 'A', width: 0, height: 1 }] }
  const cases: [string, () => Promise<Buffer> | Buffer, string][] = [
    ['text', () => Buffer.from('hello'), 'not a zip file'],
    ['nothing', () => Buffer.alloc(0), 'not a zip file'],
    ['half a zip file', async () => (await ekahau([{ name: 'A', picture: plan }])).subarray(0, 400), 'not a zip file'],
    ['a zip file without a project', () => zip({ 'a.txt': 'x' }), 'floorPlans.json'],
    ['a document of another shape', () => zip({ 'floorPlans.json': '[]' }), 'floorPlans.json'],
    ['a document that is not JSON', () => zip({ 'floorPlans.json': '{"floorPlans":' }), 'floorPlans.json'],
    ['a deep document', () => zip({ 'floorPlans.json': '['.repeat(1e6) }), 'floorPlans.json'],
    ['a floor without a width', () => zip({ 'floorPlans.json': wide }), 'floorPlans.0.width'],
    ['eight megabytes of blanks', () => zip({ 'floorPlans.json': ' '.repeat(9e6) }), 'bytes'],
    ['a lying picture', () => ekahau([{ name: 'A', picture: Buffer.from('GIF89a') }]), 'neither PNG nor JPEG'],
    ['a bomb of a picture', () => ekahau([{ name: 'A', picture: hollowPng(20_000, 20_000) }]), 'pixels'],
    ['a picture of many bytes', () => ekahau([{ name: 'A', picture: Buffer.alloc(2e6) }]), 'bytes'],
    ['a missing picture', () => ekahau([{ name: 'ok', picture: plan }, { name: 'A' }]), 'has no image-'],
    ['ten thousand entries', withTooManyEntries, 'entries'],
    ['a damaged entry', withChangedByte, 'is broken'],
    ['a path outside it', () => withEntryName('../../../x.png'), 'directory'],
    ['a path from the root', () => withEntryName('/etc/passwd.pn'), 'directory'],
    ["a name that can't be stored", () => withEntryName('a\0plan-plan.png'), 'directory'],
    ['a directory of megabytes', bloated, 'directory'],
  ]

  /** Returns a project with the first byte of its compressed floor plans changed to a kind of block that does not exist. */
  async function withChangedByte(): Promise<Buffer> {
    const bytes = await zip({ 'floorPlans.json': { floorPlans: [] } })
    const header = 30 + bytes.readUInt16LE(26) + bytes.readUInt16LE(28)
    bytes[header] = 0xff
    return bytes
  }

  /** Returns an archive whose end record declares too many entries. */
  async function withTooManyEntries(): Promise<Buffer> {
    const bytes = await zip({ 'floorPlans.json': '{}' })
    bytes.writeUInt16LE(10_001, bytes.length - 12)
    return bytes
  }

  /** Returns an archive in which the entry of an image has this name, with as many bytes as before. */
  async function withEntryName(name: string): Promise<Buffer> {
    const placeholder = 'p'.repeat(name.length)
    const bytes = await zip({ [placeholder]: plan, 'floorPlans.json': { floorPlans: [] } })
    for (let at = bytes.indexOf(placeholder); at >= 0; at = bytes.indexOf(placeholder, at)) bytes.write(name, at)
    return bytes
  }

  function bloated(): Promise<Buffer> {
    const names = Array.from({ length: 200 }, (_, index) => `${index}/${'n'.repeat(60_000)}`)
    return zip(Object.fromEntries(names.map((name) => [name, ''])))
  }

  it.each(cases)('is refused and stores nothing: %s', async (_name, make, why) => {
    const before = await stored()
    const answer = await send(await make(), { json: options({ import_all_floorplans: true }) })
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining('Invalid field file: ') } })
    expect(answer.body.reason).toContain(why)
    expect(await maps()).toEqual([])
    expect(await stored()).toEqual(before)
  })

  it('does not follow an entry that is a link', async () => {
    const file = await zip({ 'a.png': '../../../../etc/passwd' })
    // The attributes are in the directory at the end; this one marks a symbolic link of Unix.
    file.writeUInt32LE((0o120777 << 16) >>> 0, file.indexOf('PK\x01\x02') + 38)
    const answer = await send(file, { json: options({ vendor_name: 'images' }) })
    expect(answer).toMatchObject({ status: 400, body: { reason: expect.stringContaining('neither PNG nor JPEG') } })
    expect(await maps()).toEqual([])
  })

  it('truncates a long name between characters', async () => {
    const file = await zip({ [`${'n'.repeat(499)}\u{1F6F0}.png`]: plan })
    expect(await send(file, { json: options({ vendor_name: 'images' }) })).toMatchObject({ status: 200 })
    expect((await maps())[0].name).toHaveLength(500)
  })

  it('stops at an entry that is longer than it declares', async () => {
    const honest = await zip({ 'floorPlans.json': ' '.repeat(1e6) })
    // The length precedes the name, in the directory at the end and before the entry.
    for (let at = honest.indexOf('PK\x01\x02'); at >= 0; at = -1) honest.writeUInt32LE(10, at + 24)
    const answer = await send(honest)
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining('Invalid field file: ') } })
  })

  it.each([
    [{ json: '{}' }, 'vendor_name'],
    [{ json: options({ vendor_name: 'ibwave' }) }, 'vendor_name'],
    [{ json: options({ vendor_name: 'other' }) }, 'vendor_name'],
    [{ json: options({ import_height: 'x' }) }, 'import_height'],
    [{ json: '[]' }, 'json'],
    [{ auto_deviceprofile_assignment: 'true' }, 'auto_deviceprofile_assignment'],
    [{ csv: 'name,mac\na,b' }, 'csv'],
    [{ csv: 'a,020000000001\na,020000000002' }, 'csv'],
    [{ csv: 'a,"020000000001' }, 'csv'],
    [{ csv: { bytes: Buffer.from([0xff, 0xfe, 0x41]) } }, 'csv'],
    [{ csv: `${'a'.repeat(201)},020000000001` }, 'csv'],
    [{ other: { bytes: 'x' } }, 'other'],
  ])('is refused for an invalid part: %j', async (parts, field) => {
    const before = await stored()
    const answer = await send(await ekahau([{ name: 'A', picture: plan }]), parts)
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(`Invalid field ${field}: `) } })
    expect(await stored()).toEqual(before)
  })

  it('is refused without its bundle', async () => {
    const answer = await postForm(server, path, { json: options() })
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining('Invalid field file: ') } })
  })
})
