import S3rver from '@20minutes/s3rver'
import { randomBytes, randomUUID } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { afterFile } from '../../support/after-file.ts'
import { openStorage } from '../../../src/app/storage.ts'
import { listMissingImages } from '../../../src/firmware/storage/check-files.ts'
import { DEFAULT_DOWNLOAD_LIMITS } from '../../../src/firmware/downloads/download-limits.ts'
import { firmwareDownloadUrl } from '../../../src/firmware/downloads/download-url.ts'
import type { FirmwareFiles } from '../../../src/firmware/firmware.ts'
import { firmwareTasks, sweepFirmwareFiles } from '../../../src/firmware/storage/storage.ts'
import { addMs, systemClock } from '../../../src/platform/time/clock.ts'
import type { ObjectStore } from '../../../src/platform/storage/object-store.ts'
import { compareText } from '../../../src/firmware/version-order.ts'
import { type S3Settings, createS3Store } from '../../../src/platform/storage/s3-store.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

const roomy = { orgMaxBytes: 1e9, totalMaxBytes: 1e9 }

let s3: S3rver
let port: number
let bucketDir: string
let settings: S3Settings
let objects: ObjectStore
let server: TestServer
let files: FirmwareFiles
let dir: string

async function startS3(): Promise<void> {
  const configureBuckets = [{ name: 'images', configs: [] }]
  const where = { address: '127.0.0.1', port, directory: bucketDir }
  // This server signs the path of a list in another way than Amazon does, so it would refuse the client.
  const lenient = { allowMismatchedSignatures: true, vhostBuckets: false }
  s3 = new S3rver({ ...where, ...lenient, silent: true, configureBuckets })
  port = (await s3.run()).port
}

async function stopS3(): Promise<void> {
  s3.httpServer.closeAllConnections()
  await s3.close()
}

beforeAll(async () => {
  bucketDir = await temporaryDir(afterFile)
  port = 0
  await startS3()
  const place = { bucket: 'images', prefix: 'signalbox/', region: 'us-east-1', pathStyle: true }
  const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
  settings = { ...place, endpoint: `http://127.0.0.1:${port}`, credentials }
  server = await startTestServer(systemClock, {}, null, { s3: settings })
  dir = join(server.dataDir, 'firmware')
  await sweepFirmwareFiles(server.ctx, { dir })
  objects = createS3Store(server.ctx.log, settings)
  const limits = { firmware: roomy, pictures: roomy, support: roomy, diskReserveBytes: 0 }
  const trust = { firmwareTrust: { keys: [], isRequired: false }, firmwareDownloads: DEFAULT_DOWNLOAD_LIMITS }
  files = openStorage(server.ctx, server.dataDir, {
    ...limits,
    ...trust,
    firmwareMaxBytes: 1e7,
    s3: settings,
  }).firmwareFiles
})
afterAll(async () => {
  await server.close()
  await stopS3()
})

async function names(): Promise<string[]> {
  const all: string[] = []
  for await (const page of objects.list()) all.push(...page.map(({ name }) => name))
  return all.toSorted(compareText)
}

const local = async (): Promise<string[]> => [
  ...(await readdir(dir)).filter((name) => name !== 'incoming'),
  ...(await readdir(join(dir, 'incoming'))),
]

function upload(image: Buffer, query = `version=${randomUUID()}&models=AP45`): Promise<Answer> {
  const headers = { 'content-type': 'application/octet-stream' }
  return server.call('POST', `/orgs/${server.org.orgId}/firmware?${query}`, { body: image, headers })
}

function download(imageId: string, headers: Record<string, string> = {}): Promise<Response> {
  const ticket = { orgId: server.org.orgId, commandId: uuidv7(), imageId }
  return fetch(firmwareDownloadUrl(server.ctx, ticket, addMs(new Date(), 60_000)), { headers })
}

/** Breaks the connection of a response instead of sending more than so many bytes. */
function breakAfter(response: ServerResponse, bytes: number): void {
  const write = response.write.bind(response)
  let sent = 0
  response.write = (chunk: Buffer) => {
    sent += chunk.length
    if (sent <= bytes) return write(chunk)
    response.destroy()
    return false
  }
}

it('an image is stored in the bucket, and downloaded in parts, and whole although the store breaks off', async () => {
  const image = randomBytes(3_000_000)
  const { status, body } = await upload(image)
  expect(status).toBe(200)
  expect([await names(), await local()]).toEqual([[body.id], []])
  const part = await download(body.id, { range: 'bytes=1000000-1999999' })
  expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 1000000-1999999/3000000'])
  expect(Buffer.from(await part.arrayBuffer()).equals(image.subarray(1_000_000, 2_000_000))).toBe(true)
  // The store breaks its connection in the middle of the response, which the device does not notice.
  const ranges: (string | undefined)[] = []
  s3.httpServer.on('request', ({ headers }) => ranges.push(headers.range))
  s3.httpServer.prependOnceListener('request', (_request, response) => breakAfter(response, 1_000_000))
  expect(Buffer.from(await (await download(body.id)).arrayBuffer()).equals(image)).toBe(true)
  expect(ranges).toEqual(['bytes=0-2999999', expect.stringMatching(/^bytes=[1-9]\d*-2999999$/)])
  expect((await server.call('DELETE', `/orgs/${server.org.orgId}/firmware/${body.id}`)).status).toBe(200)
  expect(await names()).toEqual([])
})

it('a refused upload, and one of the same bytes, leave no further object', async () => {
  const [image, other] = [randomBytes(1000), randomBytes(1000)]
  const { id } = (await upload(image, 'version=1&models=AP51')).body
  expect((await upload(other, 'version=1&models=AP51')).status).toBe(400)
  expect((await upload(image, 'version=1&models=AP52')).body.id).toBe(id)
  expect([await names(), await local()]).toEqual([[id], []])
  await server.call('DELETE', `/orgs/${server.org.orgId}/firmware/${id}`)
})

it('objects that a crash left are removed by the chore, and no others', async () => {
  const { id } = (await upload(randomBytes(1000))).body
  const path = join(server.dataDir, 'left')
  await writeFile(path, 'left')
  const left = { path, sizeBytes: 4, sha256: '360f84035942243c6a36537ae2f8673485e6c04455a0a85a0db19690f2541480' }
  const orphan = uuidv7()
  for (const name of [orphan, 'of-somebody-else']) await objects.put(name, left)
  const run = async (now: Date) => {
    const [chore] = firmwareTasks({ ...server.ctx, clock: { now: () => now } }, files)
    await chore?.run(null, new AbortController().signal)
  }
  // It may belong to an upload that is about to be committed.
  await run(new Date())
  expect(await names()).toEqual([id, orphan, 'of-somebody-else'].toSorted(compareText))
  await run(addMs(new Date(), 2 * 3600e3))
  expect(await names()).toEqual([id, 'of-somebody-else'].toSorted(compareText))
  await objects.remove('of-somebody-else')
  await server.call('DELETE', `/orgs/${server.org.orgId}/firmware/${id}`)
})

it('an image that is in the data folder is downloaded from there, until it is moved', async () => {
  const image = randomBytes(1000)
  const { id } = (await upload(image)).body
  const moved = await objects.open(id, { start: 0, end: 999 })
  if (moved === null) throw new Error('the object is missing')
  await writeFile(join(dir, id), moved)
  await objects.remove(id)
  const downloaded = async () => Buffer.from(await (await download(id)).arrayBuffer()).equals(image)
  expect(await downloaded()).toBe(true)
  const headers = { authorization: 'Operator operator-key' }
  const move = () => server.call('POST', '/operator/v1/firmware/move', { headers, as: null })
  expect((await move()).body).toEqual({ id, left: 0 })
  expect((await move()).body).toEqual({ id: null, left: 0 })
  expect([await names(), await local()]).toEqual([[id], []])
  expect(await downloaded()).toBe(true)
  await server.call('DELETE', `/orgs/${server.org.orgId}/firmware/${id}`)
})

it('while the store is away, requests are refused, nothing is left behind, and no image counts as missing', async () => {
  const { id } = (await upload(randomBytes(1000))).body
  const crowdedMs = () => server.ctx.crowding.lastMs()
  const large = (await upload(randomBytes(3_000_000))).body
  expect(crowdedMs()).toBeNull()
  // The store goes away in the middle of a download.
  s3.httpServer.prependOnceListener('request', (_request, response) => {
    breakAfter(response, 1_000_000)
    response.once('close', () => void stopS3())
  })
  await expect((await download(large.id)).arrayBuffer()).rejects.toThrow('terminated')
  const brokenMs = crowdedMs()
  expect(brokenMs).not.toBeNull()
  const refused = await upload(randomBytes(1000))
  expect([refused.status, refused.body.detail]).toEqual([503, expect.stringContaining('The store of firmware images')])
  expect((await download(id)).status).toBe(503)
  const awayMs = crowdedMs()
  expect(awayMs).toBeGreaterThan(brokenMs ?? 0)
  expect(await listMissingImages(server.ctx.db, files)).toEqual([])
  expect(await local()).toEqual([])
  await startS3()
  await server.call('DELETE', `/orgs/${server.org.orgId}/firmware/${large.id}`)
  expect((await download(id)).status).toBe(200)
  expect(await names()).toEqual([id])
  expect(await listMissingImages(server.ctx.db, files)).toEqual([])
  await objects.remove(id)
  expect(await listMissingImages(server.ctx.db, files)).toEqual([{ orgId: server.org.orgId, id }])
  expect((await download(id)).status).toBe(503)
  // A download of an image that is missing costs its device an attempt.
  expect(crowdedMs()).toBe(awayMs)
})
