import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { picture } from '../../maps/pictures.ts'
import { type MadeDevice, addSite, claimNewDevice } from '../../support/fleets/devices.ts'
import { encodeForm } from '../../support/contract/forms.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'

let now = new Date('2026-11-20T12:00:00Z')
let server: TestServer
let siteId: string
let device: MadeDevice
let path: string
beforeAll(async () => {
  server = await startTestServer({ now: () => now })
  siteId = await addSite(server)
  device = await claimNewDevice(server, { siteId })
  path = `/sites/${siteId}/devices/${device.id}`
})
afterAll(() => server.close())

async function upload(spelling: string, bytes: Buffer, type = 'application/octet-stream'): Promise<Answer> {
  const { body, headers } = await encodeForm({ file: { name: 'photo', type, bytes }, json: '{}' })
  const answer = await fetch(`${server.url}/api/v1${path}/${spelling}`, {
    method: 'POST',
    headers: { authorization: `Token ${server.org.token}`, ...headers },
    body: new Uint8Array(body),
  })
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

async function files(): Promise<string[]> {
  const dir = join(server.dataDir, 'images')
  return [...(await readdir(dir)).filter((name) => name !== 'incoming'), ...(await readdir(join(dir, 'incoming')))]
}

const paddedPicture = async (bytes: number) => Buffer.concat([await picture(3, 3), Buffer.alloc(bytes)])

const get = async () => (await server.call('GET', path)).body

describe('images of a device', () => {
  it('are uploaded, served, replaced and deleted at both spellings of the path', async () => {
    const png = await picture(30, 20)
    const jpeg = await picture(30, 20, { format: 'jpeg' })
    expect(await upload('image1', png, 'image/png')).toMatchObject({ status: 200, body: {} })
    expect((await upload('image/3', jpeg)).status).toBe(200)
    const shown = await get()
    expect(shown).not.toHaveProperty('image2_url')
    const first = await fetch(shown.image1_url)
    expect(first.headers.get('content-type')).toBe('image/png')
    expect(first.headers.get('x-content-type-options')).toBe('nosniff')
    expect(Buffer.from(await first.arrayBuffer()).equals(png)).toBe(true)
    expect((await fetch(shown.image3_url, { method: 'HEAD' })).headers.get('content-length')).toBe(String(jpeg.length))
    expect((await server.call('GET', `/sites/${siteId}/devices`)).body[0].image1_url).toBe(shown.image1_url)
    // The replaced file is deleted, so its address no longer works.
    expect((await upload('image1', jpeg)).status).toBe(200)
    expect((await fetch(shown.image1_url)).status).toBe(404)
    expect(await files()).toHaveLength(2)
    expect((await server.call('DELETE', `${path}/image1`)).status).toBe(200)
    expect((await server.call('DELETE', `${path}/image/3`)).status).toBe(200)
    expect((await server.call('DELETE', `${path}/image1`)).status).toBe(404)
    expect(await files()).toEqual([])
  })

  it("have addresses that can't be forged, and that expire", async () => {
    await upload('image2', await picture(3, 3))
    const { image2_url: url } = await get()
    expect((await fetch(url)).status).toBe(200)
    expect((await fetch(`${url}x`)).status).toBe(404)
    expect((await fetch(url.replace('/images/', '/images/%2e%2e/'))).status).toBe(404)
    now = new Date(now.getTime() + 3 * 3600e3)
    expect((await fetch(url)).status).toBe(403)
    expect((await fetch((await get()).image2_url)).status).toBe(200)
    await server.call('DELETE', `${path}/image2`)
  })

  it.each<[string, { at?: string; make: () => Promise<Buffer>; type: string; status: number }]>([
    ['text', { make: async () => Buffer.from('no image'), type: 'image/png', status: 400 }],
    ['a type that is not its own', { make: () => picture(3, 3), type: 'image/jpeg', status: 400 }],
    ['too many pixels', { make: () => picture(8000, 7000), type: 'image/png', status: 400 }],
    ['too many bytes', { make: () => paddedPicture(1024 * 1024), type: 'image/png', status: 413 }],
    ['a fourth', { at: 'image4', make: () => picture(3, 3), type: 'image/png', status: 400 }],
  ])('refuse %s and store nothing', async (_what, { at = 'image1', make, type, status }) => {
    expect(await upload(at, await make(), type)).toMatchObject({ status, body: { detail: expect.any(String) } })
    expect(await files()).toEqual([])
    expect(await get()).not.toHaveProperty('image1_url')
  })

  it('refuse a body without a form, a form without the file, and a device of another site', async () => {
    expect((await server.call('POST', `${path}/image1`, { body: {} })).status).toBe(415)
    const { body, headers } = await encodeForm({ json: '{}' })
    const init = { method: 'POST', headers: { authorization: `Token ${server.org.token}`, ...headers }, body }
    const empty = await fetch(`${server.url}/api/v1${path}/image1`, { ...init, body: new Uint8Array(body) })
    expect(empty.status).toBe(400)
    const elsewhere = await addSite(server, 'Elsewhere')
    const wrong = `${server.url}/api/v1/sites/${elsewhere}/devices/${device.id}/image1`
    expect((await fetch(wrong, { ...init, body: new Uint8Array(body) })).status).toBe(404)
  })
})

describe('a device on a map', () => {
  it('refuses the map of another site, and is removed from its map when it leaves the site', async () => {
    const elsewhere = await addSite(server, 'Another')
    const here = (await server.call('POST', `/sites/${siteId}/maps`, { body: { name: 'Here', type: 'image' } })).body.id
    const there = (await server.call('POST', `/sites/${elsewhere}/maps`, { body: { name: 'There', type: 'image' } }))
      .body.id
    expect(await server.call('PUT', path, { body: { map_id: there } })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('map_id') },
    })
    expect((await server.call('PUT', path, { body: { map_id: here, x: 1.5, y: 2 } })).body).toMatchObject({ x: 1.5 })
    const inventory = `/orgs/${server.org.orgId}/inventory`
    await server.call('PUT', inventory, { body: { op: 'assign', site_id: elsewhere, macs: [device.mac] } })
    const moved = (await server.call('GET', `/sites/${elsewhere}/devices/${device.id}`)).body
    for (const field of ['map_id', 'x', 'y']) expect(moved).not.toHaveProperty(field)
    await server.call('PUT', inventory, { body: { op: 'assign', site_id: siteId, macs: [device.mac] } })
  })

  it.each([
    ['map_id', 'nowhere'],
    ['x', 'left'],
    ['orientation', 360],
    ['orientation', 1.5],
    ['height', 'high'],
    ['vars', []],
    ['role', 5],
  ])('refuses %s = %j', async (field, value) => {
    const answer = await server.call('PUT', path, { body: { [field]: value } })
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(field) } })
  })
})
