import { randomBytes, randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { measureImages } from '../../../src/app/images.ts'
import { sweepFirmwareFiles } from '../../../src/firmware/storage/storage.ts'
import { createThumbnails } from '../../../src/maps/create-thumbnails.ts'
import { systemClock } from '../../../src/platform/time/clock.ts'
import { DEFAULT_DECODE_LIMITS } from '../../../src/platform/images/decoder-limits.ts'
import { zip } from '../../maps/bundles.ts'
import { noise, postForm } from '../../maps/pictures.ts'
import { addSite, claimNewDevice } from '../../support/fleets/devices.ts'
import { addMxedge } from '../../support/fleets/mxedges.ts'
import {
  type Answer,
  type TestOrg,
  type TestServer,
  type UploadBounds,
  startTestServer,
} from '../../support/servers/server.ts'
import { waitUntil } from '../../support/wait-until.ts'

const KIB = 1024
const MIB = 1024 * KIB

let server: TestServer
afterEach(() => server.close())

async function start(bounds: Partial<UploadBounds>): Promise<void> {
  server = await startTestServer(systemClock, {}, null, bounds)
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
}

const within = (orgMaxBytes: number, totalMaxBytes = 1024 * MIB) => ({ orgMaxBytes, totalMaxBytes })

/** Lists every file of uploads, including incoming ones. */
async function stored(kind: 'firmware' | 'images'): Promise<string[]> {
  const dir = join(server.dataDir, kind)
  return [...(await readdir(dir)).filter((name) => name !== 'incoming'), ...(await readdir(join(dir, 'incoming')))]
}

const firmwarePath = ({ orgId }: TestOrg) => `/orgs/${orgId}/firmware?version=${randomUUID()}&models=EAP102`
const headers = { 'content-type': 'application/octet-stream' }
const uploadFirmware = (bytes: number, as = server.org) =>
  server.call('POST', firmwarePath(as), { as, headers, body: randomBytes(bytes) })

/** Uploads without declaring the length. */
function streamFirmware(chunks: number, chunkBytes: number): Promise<Answer['body']> {
  return new Promise((resolve, reject) => {
    const authorization = `Token ${server.org.token}`
    const sent = request(`${server.url}/api/v1${firmwarePath(server.org)}`, {
      method: 'POST',
      headers: { ...headers, authorization },
    })
    sent.once('response', (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.once('end', () => resolve({ status: answer.statusCode, ...JSON.parse(text) }))
    })
    // The server closes the connection of an upload that it has refused.
    sent.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    for (let index = 0; index < chunks; index += 1) sent.write(randomBytes(chunkBytes))
    sent.end()
  })
}

describe('firmware images of an organization', () => {
  beforeEach(() => start({ firmware: within(MIB) }))

  it('have a quota, whose error names the used and the allowed space', async () => {
    expect((await uploadFirmware(600 * KIB)).status).toBe(200)
    expect(await uploadFirmware(600 * KIB)).toMatchObject({
      status: 400,
      body: {
        detail: expect.stringContaining('Invalid field body: '),
        reason:
          'has at least 614400 bytes, and of the 1048576 bytes of firmware images that the organization may store, 614400 are in use',
      },
    })
    expect(await stored('firmware')).toHaveLength(1)
    const { body } = await server.call('GET', `/orgs/${server.org.orgId}/firmware`)
    expect((await server.call('DELETE', `/orgs/${server.org.orgId}/firmware/${body[0].id}`)).status).toBe(200)
    expect((await uploadFirmware(MIB)).status).toBe(200)
    // Another organization has its own quota.
    expect((await uploadFirmware(MIB, await server.addOrg('Other'))).status).toBe(200)
  })

  it('do not exceed it when uploaded concurrently', async () => {
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => uploadFirmware(400 * KIB)))
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 200, 400, 400, 400])
    expect(await stored('firmware')).toHaveLength(2)
  })

  it('are refused during the upload if their length was not declared', async () => {
    expect(await streamFirmware(40, 64 * KIB)).toMatchObject({
      status: 400,
      detail: expect.stringContaining('Invalid field body: '),
    })
    await waitUntil('no image', async () => (await stored('firmware')).length === 0)
    // The space that was reserved for it is free again.
    expect(await streamFirmware(16, 64 * KIB)).toMatchObject({ status: 200 })
  })
})

it('firmware images of all organizations have a quota', async () => {
  await start({ firmware: within(MIB, MIB) })
  expect((await uploadFirmware(600 * KIB)).status).toBe(200)
  expect(await uploadFirmware(600 * KIB, await server.addOrg('Other'))).toMatchObject({
    status: 503,
    body: {
      detail: expect.stringContaining('Invalid field body: '),
      reason: expect.stringMatching(/1048576 bytes .* the server may store, 614400 are in use/),
    },
  })
  expect(await stored('firmware')).toHaveLength(1)
})

it('an upload is refused if it would use the reserve of the disk', async () => {
  await start({ diskReserveBytes: Number.MAX_SAFE_INTEGER })
  const full = {
    status: 503,
    body: {
      detail: expect.stringMatching(
        /the disk has \d+ bytes free, .* 9007199254740991 are kept in reserve \(SIGNALBOX_DISK_RESERVE_MB\)$/,
      ),
    },
  }
  expect(await uploadFirmware(KIB)).toMatchObject(full)
  const maps = `/sites/${await addSite(server)}/maps`
  const { body } = await server.call('POST', maps, { body: {} })
  expect(await postForm(server, `${maps}/${body.id}/image`, { file: { bytes: await noise(20) } })).toMatchObject(full)
  expect([...(await stored('firmware')), ...(await stored('images'))]).toEqual([])
})

describe('pictures of an organization', () => {
  let picture: Buffer
  let paths: string[]
  let map: string
  beforeEach(async () => {
    await start({ pictures: within(300 * KIB) })
    const siteId = await addSite(server)
    const device = await claimNewDevice(server, { siteId })
    const edge = await addMxedge(server)
    const { body } = await server.call('POST', `/sites/${siteId}/maps`, { body: {} })
    map = `/sites/${siteId}/maps/${body.id}`
    paths = [
      `${map}/image`,
      `/sites/${siteId}/devices/${device.id}/image1`,
      `/orgs/${server.org.orgId}/mxedges/${edge.id}/image/1`,
    ]
    // This has about 120 KB: two fit.
    picture = await noise(200)
  })

  const upload = (path = '', bytes = picture) => postForm(server, path, { file: { bytes, type: 'image/png' } })
  const full = {
    status: 400,
    body: {
      detail: expect.stringContaining('Invalid field file: '),
      reason: expect.stringMatching(/of the 307200 bytes of pictures that the organization may store, \d+ are in use/),
    },
  }

  it('have one quota, whatever they show', async () => {
    for (const path of paths) {
      const others = paths.filter((other) => other !== path)
      for (const other of others) expect((await upload(other)).status).toBe(200)
      expect(await upload(path)).toMatchObject(full)
      expect(await stored('images')).toHaveLength(2)
      for (const other of others) expect((await server.call('DELETE', other)).status).toBe(200)
      expect(await stored('images')).toEqual([])
    }
  })

  it('do not exceed it when uploaded concurrently', async () => {
    const answers = await Promise.all(paths.map((path) => upload(path)))
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 200, 400])
    expect(await stored('images')).toHaveLength(2)
  })

  it('may be replaced by smaller ones when the quota is used up', async () => {
    for (const path of paths.slice(0, 2)) expect((await upload(path)).status).toBe(200)
    const smaller = await noise(195)
    for (const path of paths.slice(0, 2)) expect((await upload(path, smaller)).status).toBe(200)
    expect(await upload(paths[0], await noise(300))).toMatchObject(full)
    expect(await stored('images')).toHaveLength(2)
  })

  it('count when they are imported in a bundle, which is refused as a whole if it exceeds the quota', async () => {
    const bundle = await zip({ 'a.png': picture, 'b.png': picture, 'c.png': picture })
    const json = JSON.stringify({ vendor_name: 'images' })
    const path = `${map.slice(0, map.lastIndexOf('/'))}/import`
    expect(await postForm(server, path, { json, file: { bytes: bundle } })).toMatchObject({
      status: 400,
      body: { reason: expect.stringMatching(/^c\.png has at least \d+ bytes, and of the 307200 bytes of pictures/) },
    })
    expect(await stored('images')).toEqual([])
    // The space that was reserved for its images is free again.
    for (const path of paths.slice(0, 2)) expect((await upload(path)).status).toBe(200)
  })

  it('are reported to the operator with their limits', async () => {
    for (const path of paths.slice(0, 2)) await upload(path)
    const files = { dir: join(server.dataDir, 'images'), decode: DEFAULT_DECODE_LIMITS }
    await createThumbnails(server.ctx, files)
    await uploadFirmware(5000)
    const operator = { as: null, headers: { authorization: 'Operator operator-key' } }
    const { body } = await server.call('GET', '/operator/v1/storage', operator)
    expect(body).toMatchObject({
      disk: { free_bytes: expect.any(Number), reserve_bytes: 0 },
      firmware: { used_bytes: 5000, max_bytes: 1024 * MIB, org_max_bytes: 1024 * MIB },
      pictures: { max_bytes: 1024 * MIB, org_max_bytes: 300 * KIB },
      orgs: [
        {
          id: server.org.orgId,
          name: 'Test',
          firmware_bytes: 5000,
          picture_bytes: body.pictures.used_bytes,
          support_bytes: 0,
        },
      ],
    })
    expect(body.pictures.used_bytes).toBeGreaterThan(2 * picture.length)
    // The next start measures images that were stored before sizes were.
    await server.ctx.db.updateTable('siteMap').set({ imageBytes: 0, thumbnailBytes: 0 }).execute()
    await server.ctx.db.updateTable('deviceImage').set({ bytes: 0 }).execute()
    expect((await server.call('GET', '/operator/v1/storage', operator)).body.pictures.used_bytes).toBe(0)
    await measureImages(server.ctx, files)
    const { body: measured } = await server.call('GET', '/operator/v1/storage', operator)
    expect({ ...measured, disk: null }).toEqual({ ...body, disk: null })
    expect((await server.call('GET', '/operator/v1/storage')).status).toBe(401)
  })
})
