import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/platform/log.ts'
import type { ObjectStore } from '../../src/platform/storage/object-store.ts'
import { type S3Limits, createS3Store } from '../../src/platform/storage/s3-store.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

type Answer = (response: ServerResponse, request: IncomingMessage) => void

/** Starts a store that answers as a test says. @param limits Default: as in operation. */
function startStore(answer: Answer, limits?: S3Limits) {
  return serveStore((request, response) => {
    request.resume()
    request.once('end', () => answer(response, request))
  }, limits)
}

async function serveStore(
  serve: (request: IncomingMessage, response: ServerResponse) => void,
  limits?: S3Limits,
): Promise<{ readonly objects: ObjectStore; readonly said: () => string }> {
  const server = createServer(serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const lines: string[] = []
  const log = createLog('error', { write: (line) => void lines.push(line) })
  const settings = {
    bucket: 'images',
    prefix: '',
    region: 'us-east-1',
    endpoint: `http://127.0.0.1:${port}`,
    pathStyle: true,
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
  }
  return { objects: createS3Store(log, settings, limits), said: () => lines.join('') }
}

const limitsOf = (ms: number): S3Limits => ({ answerMs: ms, storedMs: () => ms })

const content = Buffer.from('0123456789')
const sha256 = '84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882'
const unavailable = { code: 'unavailable' }

async function newFile() {
  const path = join(await temporaryDir(), 'file')
  await writeFile(path, content)
  return { path, sha256, sizeBytes: content.length }
}

test.each<[string, Answer]>([
  ['answers anything with its own page', (response) => response.end('<html>Welcome</html>')],
  ['does not have the object', (response, { method }) => response.writeHead(method === 'PUT' ? 200 : 404).end()],
  ['has less of it', (response, { method }) => response.end(method === 'PUT' ? '' : content.subarray(1))],
])('a file is not stored by a store that confirms it and %s', async (_, answer) => {
  const { objects, said } = await startStore(answer)
  await expect(objects.put('image', await newFile())).rejects.toMatchObject(unavailable)
  expect(said()).toContain('the object store failed to store an object')
})

test.each<[string, Answer, string]>([
  ['all of it', (response) => response.end(content), '10 bytes'],
  [
    'another part',
    (response) => response.writeHead(206, { 'content-range': 'bytes 0-3/10' }).end('0123'),
    'bytes 0-3/10',
  ],
  [
    'less, because its object is shorter',
    (response) => response.writeHead(206, { 'content-range': 'bytes 4-6/7' }).end('456'),
    'bytes 4-6/7',
  ],
])('a part is not read from a store that answers with %s', async (_, answer, what) => {
  const { objects, said } = await startStore(answer)
  await expect(objects.open('image', { start: 4, end: 7 })).rejects.toMatchObject(unavailable)
  expect(said()).toContain(`It answered with ${what} to a request for bytes=4-7`)
})

test('a whole object may come without a range, but only if it has the size', async () => {
  const { objects } = await startStore((response) => response.end(content))
  const body = await objects.open('image', { start: 0, end: content.length - 1 })
  expect(body === null ? null : await buffer(body)).toEqual(content)
  await expect(objects.open('image', { start: 0, end: content.length })).rejects.toMatchObject(unavailable)
})

const noSuch = (what: string) => `<?xml version="1.0"?><Error><Code>NoSuch${what}</Code><Message>None</Message></Error>`

test('an object is missing if the store says so', async () => {
  const { objects } = await startStore((response) => response.writeHead(404).end(noSuch('Key')))
  expect(await objects.open('image', { start: 0, end: 9 })).toBeNull()
})

test.each([
  ['does not have the bucket', noSuch('Bucket')],
  ['answers nothing', ''],
  ['is another server', '<!doctype html><html><body><h1>404 Not Found</h1></body></html>'],
])('no object is missing if what answers 404 %s', async (_, page) => {
  const { objects, said } = await startStore((response) => response.writeHead(404).end(page))
  await expect(objects.open('image', { start: 0, end: 9 })).rejects.toMatchObject(unavailable)
  expect(said()).toContain('the object store failed to read an object')
})

test('a store that does not answer is given up, but not one whose answer is long', async () => {
  const begun: ServerResponse[] = []
  const { objects, said } = await startStore((response, { url }) => {
    if (url?.includes('long') !== true) return
    response.writeHead(206, { 'content-range': 'bytes 0-9/10' }).write(content.subarray(0, 5))
    begun.push(response)
  }, limitsOf(2000))
  const body = await objects.open('long', { start: 0, end: 9 })
  // The limit of the answer has passed when that of the later requests has.
  const later = [
    objects.open('image', { start: 0, end: 9 }),
    objects.remove('image'),
    objects.list()[Symbol.asyncIterator]().next(),
  ]
  await Promise.all(later.map((request) => expect(request).rejects.toMatchObject(unavailable)))
  expect(said().match(/"message":"It did not answer within 2000 ms/g)).toHaveLength(3)
  begun[0]?.end(content.subarray(5))
  expect(body === null ? null : await buffer(body)).toEqual(content)
})

test('a store that takes an object byte by byte is given up', async () => {
  const sizeBytes = 32 * 1024 * 1024
  const path = join(await temporaryDir(), 'large')
  await writeFile(path, Buffer.alloc(sizeBytes))
  const drips: NodeJS.Timeout[] = []
  onTestFinished(() => drips.forEach(clearInterval))
  const { objects, said } = await serveStore(
    (request) => void drips.push(setInterval(() => request.read(1), 20)),
    limitsOf(1000),
  )
  await expect(objects.put('image', { path, sha256, sizeBytes })).rejects.toMatchObject(unavailable)
  expect(said()).toContain(`It did not take ${sizeBytes} bytes within 1000 ms`)
  // No further attempt has been made.
  expect(drips).toHaveLength(1)
})
