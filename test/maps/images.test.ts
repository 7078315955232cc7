import { createHash, randomUUID } from 'node:crypto'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { filterKnownImages, imageTasks } from '../../src/app/images.ts'
import { createThumbnails } from '../../src/maps/create-thumbnails.ts'
import { DEFAULT_DECODE_LIMITS } from '../../src/platform/images/decoder-limits.ts'
import { type ImageFiles, sweepImages } from '../../src/platform/images/image-files.ts'
import { addSite, claimNewDevice } from '../support/fleets/devices.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { createTestClock } from '../support/test-clock.ts'
import { type Part, hollowPng, picture, postForm } from './pictures.ts'

/** Decoders yield the processors to everything else. */
vi.setConfig({ testTimeout: 120_000 })

const clock = createTestClock()
let server: TestServer
let siteId: string
let maps: string
let files: Pick<ImageFiles, 'dir' | 'decode'>
let plan: Buffer
beforeAll(async () => {
  server = await startTestServer(clock)
  siteId = await addSite(server)
  maps = `/sites/${siteId}/maps`
  files = { dir: join(server.dataDir, 'images'), decode: DEFAULT_DECODE_LIMITS }
  plan = await picture(640, 480)
})
afterAll(() => server.close())

let path: string
beforeEach(async () => {
  await server.ctx.db.deleteFrom('siteMap').execute()
  await sweepImages(server.ctx.log, files, (names) => filterKnownImages(server.ctx.db, names))
  const { body } = await server.call('POST', maps, { body: { name: 'Plan' } })
  path = `${maps}/${body.id}`
})

const upload = (file: Part, parts: Record<string, Part> = {}) => postForm(server, `${path}/image`, { file, ...parts })
const get = async (): Promise<AnyJson> => (await server.call('GET', path)).body
const png = (bytes: Buffer): Part => ({ bytes, type: 'image/png', name: 'plan.png' })

/** Returns the names of the files in the image folder, including incoming ones. */
async function stored(): Promise<string[]> {
  const names = await readdir(files.dir)
  return [...names.filter((name) => name !== 'incoming'), ...(await readdir(join(files.dir, 'incoming')))]
}

async function show(url: string): Promise<{ status: number; type: string | null; bytes: Buffer }> {
  const answer = await fetch(url)
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    bytes: Buffer.from(await answer.arrayBuffer()),
  }
}

describe('the image of a map', () => {
  it('is served at its address until the address expires', async () => {
    expect(await upload(png(plan))).toMatchObject({ status: 200, body: {} })
    const map = await get()
    expect(map).toMatchObject({ name: 'Plan', width: 640, height: 480 })
    expect(await show(map.url)).toEqual({ status: 200, type: 'image/png', bytes: plan })
    clock.advance(3 * 3600e3)
    expect((await show(map.url)).status).toBe(403)
    expect((await show((await get()).url)).status).toBe(200)
    expect((await show(`${map.url}x`)).status).toBe(404)
  })

  it('gets a thumbnail from a background job, and replaces it until then', async () => {
    await upload({ bytes: await picture(1024, 512, { format: 'jpeg' }), type: 'image/jpeg' })
    const before = await get()
    expect(before.thumbnail_url).toBe(before.url)
    await createThumbnails(server.ctx, files)
    const after = await get()
    expect(after.url).toBe(before.url)
    const { status, type, bytes } = await show(after.thumbnail_url)
    expect({ status, type }).toEqual({ status: 200, type: 'image/jpeg' })
    expect(await sharp(bytes).metadata()).toMatchObject({ width: 256, height: 128 })
    expect(await stored()).toHaveLength(2)
    await createThumbnails(server.ctx, files)
    expect(await stored()).toHaveLength(2)
  })

  it('gets its thumbnail from a later job if the machine was too busy', async () => {
    await upload(png(plan))
    // No process can start and decode within a millisecond.
    const busy = { ...files, decode: { ...DEFAULT_DECODE_LIMITS, withinMs: 1 } }
    await expect(createThumbnails(server.ctx, busy)).rejects.toMatchObject({ code: 'unavailable' })
    await createThumbnails(server.ctx, files)
    const map = await get()
    expect(map.thumbnail_url).not.toBe(map.url)
  })

  it('that is lost on disk loses its thumbnail and nothing else', async () => {
    await upload(png(plan))
    await writeFile(join(files.dir, (await stored())[0] ?? ''), 'not a picture any more')
    await createThumbnails(server.ctx, files)
    const map = await get()
    expect(map.thumbnail_url).toBe(map.url)
    const another = await upload(png(plan), { json: JSON.stringify({ name: 'Other', org_id: randomUUID() }) })
    expect(another).toMatchObject({
      status: 400,
      body: { detail: "Invalid field org_id: can't be changed: the service sets it" },
    })
    expect(await stored()).toHaveLength(1)
    // Clients send back what they have read.
    expect((await upload(png(plan), { json: JSON.stringify(await get()) })).status).toBe(200)
  })

  it.each([
    ['without a content type', 'form-data; name="json"\r\n'],
    ['as plain text', 'form-data; name="json"\r\nContent-Type: text/plain\r\n'],
    ['as JSON', 'form-data; name="json"\r\nContent-Type: application/json\r\n'],
    ['as bytes', 'form-data; name="json"\r\nContent-Type: application/octet-stream\r\n'],
    ['as a file', 'form-data; name="json"; filename="json"\r\n'],
    ['as a file of JSON', 'form-data; name="json"; filename="json"\r\nContent-Type: application/json\r\n'],
  ])('may be sent with fields of the map in a part %s', async (_what, head) => {
    const boundary = 'limit'
    const body = Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Disposition: ${head}\r\n{"ppm": 21.5}\r\n`),
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="p.png"\r\n`),
      Buffer.from('Content-Type: image/png\r\n\r\n'),
      plan,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ])
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    expect(await server.call('POST', `${path}/image`, { body, headers })).toMatchObject({ status: 200 })
    expect(await get()).toMatchObject({ ppm: 21.5 })
  })

  it('may be sent together with fields of the map', async () => {
    await upload(png(plan), { json: JSON.stringify({ ppm: 20, name: 'With picture', width: 1 }) })
    expect(await get()).toMatchObject({ ppm: 20, name: 'With picture', width: 640 })
    const refused = await upload(png(plan), { json: JSON.stringify({ orientation: 360 }) })
    expect(refused).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field orientation: ') },
    })
    expect(await stored()).toHaveLength(1)
  })

  it('replaces the previous one, whose files are deleted', async () => {
    await upload(png(plan))
    await createThumbnails(server.ctx, files)
    const old = await get()
    await upload(png(await picture(100, 50)))
    const map = await get()
    expect(map).toMatchObject({ width: 100, height: 50 })
    expect(map.url).not.toBe(old.url)
    expect((await show(old.url)).status).toBe(404)
    expect(await stored()).toHaveLength(1)
  })

  it('is deleted with the map, or alone, with all its files', async () => {
    await upload(png(plan))
    await createThumbnails(server.ctx, files)
    expect(await server.call('DELETE', `${path}/image`)).toMatchObject({ status: 200, body: {} })
    expect(await stored()).toEqual([])
    const map = await get()
    expect(map).not.toHaveProperty('url')
    expect(map).not.toHaveProperty('thumbnail_url')
    expect(map).toMatchObject({ width: 640 })
    expect((await server.call('DELETE', `${path}/image`)).status).toBe(404)
    await upload(png(plan))
    await createThumbnails(server.ctx, files)
    await server.call('DELETE', path)
    expect(await stored()).toEqual([])
  })

  it('moves the objects of the map by the transform of a replacement', async () => {
    const device = await claimNewDevice(server, { siteId })
    const at = `/sites/${siteId}/devices/${device.id}`
    await upload(png(plan))
    const { id } = await get()
    await server.call('PUT', at, { body: { map_id: id, x: 10, y: 20, orientation: 300 } })
    await server.call('PUT', path, { body: { wall_path: { nodes: [{ name: 'N', position: { x: 1, y: 0 } }] } } })
    const transform = { rotation: 90, scale: 2, x: 100, y: 0 }
    const file = png(await picture(960, 1280))
    expect((await postForm(server, `${path}/replace`, { file, json: JSON.stringify({ transform }) })).status).toBe(200)
    expect((await server.call('GET', at)).body).toMatchObject({ x: 60, y: 20, orientation: 30 })
    expect(await get()).toMatchObject({ width: 960, wall_path: { nodes: [{ name: 'N', position: { x: 100, y: 2 } }] } })
    await postForm(server, `${path}/replace`, { file: png(plan) })
    expect((await server.call('GET', at)).body).toMatchObject({ x: 60, y: 20, orientation: 30 })
    for (const scale of [0, -1, 'x', 1e9]) {
      const answer = await postForm(server, `${path}/replace`, { file, json: JSON.stringify({ transform: { scale } }) })
      expect(answer).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining('Invalid field transform.scale: ') },
      })
    }
    expect(await stored()).toHaveLength(1)
  })

  it('moves nothing off the map', async () => {
    const wall_path = { nodes: [{ position: { x: 1e305, y: 0 } }] }
    await server.call('PUT', path, { body: { wall_path } })
    const json = JSON.stringify({ transform: { scale: 1e6 } })
    const answer = await postForm(server, `${path}/replace`, { file: png(plan), json })
    expect(answer).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field transform: ') },
    })
    expect(await get()).toMatchObject({ wall_path })
    expect(await stored()).toEqual([])
  })
})

describe('what is not an image', () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><image href="file:///etc/passwd"/></svg>'
  const cases: [string, () => Promise<Part> | Part][] = [
    ['nothing', () => png(Buffer.alloc(0))],
    ['text', () => png(Buffer.from('hello'))],
    ['an SVG', () => ({ bytes: svg, type: 'image/svg+xml' })],
    ['an SVG that calls itself PNG', () => ({ bytes: svg, type: 'image/png' })],
    ['a GIF', async () => ({ bytes: await picture(9, 9, { format: 'gif' }), type: 'image/gif' })],
    ['a WebP that calls itself PNG', async () => png(await picture(9, 9, { format: 'webp' }))],
    ['a JPEG that calls itself PNG', async () => png(await picture(9, 9, { format: 'jpeg' }))],
    ['half a PNG', () => png(plan.subarray(0, plan.length / 2))],
    ['a hundred megapixels', () => png(hollowPng(10_000, 10_000))],
    ['a picture of four billion pixels a side', () => png(hollowPng(0xffff_ffff, 0xffff_ffff))],
    ['a picture that ends after its first lines', () => png(hollowPng(2000, 2000))],
    ['more bytes than allowed', () => png(Buffer.concat([plan, Buffer.alloc(1024 * 1024)]))],
    ['a part that is not a file', () => 'text'],
  ]
  it.each(cases)('is refused and not stored: %s', async (_name, make) => {
    const answer = await upload(await make())
    expect([400, 413]).toContain(answer.status)
    expect(answer.body).toHaveProperty('detail')
    expect(await stored()).toEqual([])
    expect(await get()).not.toHaveProperty('url')
  })

  it('is refused too if it has no form, or a form without its file', async () => {
    expect((await server.call('POST', `${path}/image`)).status).toBe(400)
    const sent = { headers: { 'content-type': 'image/png' }, body: 'x' }
    expect((await server.call('POST', `${path}/image`, sent)).status).toBe(415)
    expect(await postForm(server, `${path}/image`, { other: 'x' })).toMatchObject({ status: 400 })
    expect(await postForm(server, `${path}/image`, { other: png(plan) })).toMatchObject({ status: 400 })
    expect(await upload(png(plan), { json: '{"a"' })).toMatchObject({ status: 400 })
    expect(await upload(png(plan), { more: png(plan) })).toMatchObject({
      status: expect.toSatisfy((s) => s < 500 && s >= 400),
    })
    expect(await stored()).toEqual([])
  })
})

describe('many uploads at once', () => {
  it('leave one image and no other file', async () => {
    const pictures = await Promise.all([1, 2, 3, 4, 5, 6].map((side) => picture(side * 10, side * 10, { grey: side })))
    const answers = await Promise.all([
      ...pictures.map((bytes) => upload(png(bytes))),
      createThumbnails(server.ctx, files).then(() => ({ status: 200 })),
    ])
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    await createThumbnails(server.ctx, files)
    expect(await stored()).toHaveLength(2)
    const { url } = await get()
    const hashes = pictures.map((bytes) => createHash('sha256').update(bytes).digest('hex'))
    expect(hashes).toContain(
      createHash('sha256')
        .update((await show(url)).bytes)
        .digest('hex'),
    )
  })

  it('with a concurrent delete leave no file of a deleted map', async () => {
    const answers = await Promise.all([
      upload(png(plan)),
      upload(png(plan)),
      server.call('DELETE', path),
      upload(png(plan)),
      createThumbnails(server.ctx, files).then(() => ({ status: 200 })),
    ])
    for (const { status } of answers) expect([200, 404]).toContain(status)
    expect((await server.call('GET', path)).status).toBe(404)
    expect(await stored()).toEqual([])
  })
})

it('a sweep keeps the files of maps and removes those that a crash left', async () => {
  await upload(png(plan))
  await createThumbnails(server.ctx, files)
  const kept = await stored()
  await writeFile(join(files.dir, '00000000-0000-4000-8000-000000000000.png'), plan)
  await writeFile(join(files.dir, 'incoming', 'half.part'), plan)
  await sweepImages(server.ctx.log, files, (names) => filterKnownImages(server.ctx.db, names))
  expect((await stored()).sort()).toEqual(kept.sort())
})

it('images of a deleted site are removed later, but no recently uploaded ones', async () => {
  await upload(png(plan))
  const [name = ''] = await stored()
  await server.ctx.db.deleteFrom('siteMap').execute()
  const [sweep] = imageTasks(server.ctx, files)
  const run = () => sweep?.run(null, new AbortController().signal)
  const age = (ms: number) => utimes(join(files.dir, name), new Date(), new Date(clock.now().getTime() - ms))
  await age(60_000)
  await run()
  expect(await stored()).toEqual([name])
  await age(2 * 3600e3)
  await run()
  expect(await stored()).toEqual([])
})
