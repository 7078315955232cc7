import { pbkdf2, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { discardUpload, emptyIncoming, receiveUpload } from './uploads.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'signalbox-upload-'))
  await emptyIncoming(dir)
})
afterEach(() => rm(dir, { recursive: true }))

const reservation = { add: () => Promise.resolve(), release: () => undefined }
const stored = () => readdir(join(dir, 'incoming'))

it('is kept as far as its filter lets it, and counted as far as it came', async () => {
  const filter = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) yield chunk.subarray(1)
  }
  const uploaded = await receiveUpload(dir, {
    body: Readable.from([Buffer.from('abc')]),
    maxBytes: 3,
    reservation,
    filter,
  })
  expect(uploaded.sizeBytes).toBe(2)
  await discardUpload(uploaded)
  const body = Readable.from([Buffer.from('abcd')])
  await expect(receiveUpload(dir, { body, maxBytes: 3, reservation, filter })).rejects.toThrow('at most 3 bytes')
  expect(await stored()).toEqual([])
})

it('arrives whole in several steps', async () => {
  const chunks = Array.from({ length: 7 }, () => randomBytes(600_000))
  const uploaded = await receiveUpload(dir, { body: Readable.from(chunks), maxBytes: 5_000_000, reservation })
  expect(uploaded.sizeBytes).toBe(4_200_000)
  expect((await readFile(uploaded.path)).equals(Buffer.concat(chunks))).toBe(true)
  await discardUpload(uploaded)
})

it('leaves nothing behind where it is refused after several steps', async () => {
  const body = Readable.from(Array.from({ length: 7 }, () => randomBytes(600_000)))
  await expect(receiveUpload(dir, { body, maxBytes: 4_000_000, reservation })).rejects.toThrow('at most 4000000 bytes')
  expect(await stored()).toEqual([])
})

it('leaves nothing behind where it fails before its file could be opened', async () => {
  // The system runs four such calls at a time, so these delay all file operations of the upload.
  const busy = Promise.all(Array.from({ length: 8 }, () => promisify(pbkdf2)('', '', 200_000, 32, 'sha256')))
  const body = new PassThrough()
  body.destroy(new Error('the client went away'))
  await expect(receiveUpload(dir, { body, maxBytes: 3, reservation })).rejects.toThrow('the client went away')
  await busy
  expect(await stored()).toEqual([])
})
