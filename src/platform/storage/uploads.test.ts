import { pbkdf2, randomBytes } from 'node:crypto'
import { type FileHandle, open, readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { discardUpload, emptyIncoming, receiveUpload, skipUpload } from './uploads.ts'

let dir: string
beforeEach(async () => {
  dir = await temporaryDir()
  await emptyIncoming(dir)
})

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

it('is read to its end and limited also where nothing is stored', async () => {
  const counted: number[] = []
  const skip = (text: string) =>
    skipUpload(
      { body: Readable.from([Buffer.from(text), Buffer.from('d')]), maxBytes: 4 },
      async (bytes) => void counted.push(bytes),
    )
  await skip('abc')
  expect(counted).toEqual([3, 1])
  await expect(skip('abcd')).rejects.toThrow('at most 4 bytes')
  expect(await stored()).toEqual([])
})

it('arrives whole in several steps', async () => {
  const chunks = Array.from({ length: 7 }, () => randomBytes(600_000))
  const uploaded = await receiveUpload(dir, { body: Readable.from(chunks), maxBytes: 5_000_000, reservation })
  expect(uploaded.sizeBytes).toBe(4_200_000)
  expect((await readFile(uploaded.path)).equals(Buffer.concat(chunks))).toBe(true)
  await discardUpload(uploaded)
})

it('writes through to the disk beside one other upload at most', async () => {
  const probe = await open(join(dir, 'probe'), 'w')
  const handles = Object.getPrototypeOf(probe) as FileHandle
  await probe.close()
  let [running, most, calls] = [0, 0, 0]
  const datasync = Reflect.get(handles, 'datasync')
  const watched = vi.spyOn(handles, 'datasync').mockImplementation(async function (this: FileHandle) {
    running += 1
    calls += 1
    most = Math.max(most, running)
    await datasync.call(this).finally(() => (running -= 1))
  })
  onTestFinished(() => watched.mockRestore())
  const uploads = Array.from({ length: 6 }, () => {
    const body = Readable.from(Array.from({ length: 4 }, () => randomBytes(1_100_000)))
    return receiveUpload(dir, { body, maxBytes: 5_000_000, reservation })
  })
  for (const upload of await Promise.all(uploads)) await discardUpload(upload)
  expect({ most, calls }).toEqual({ most: 2, calls: 24 })
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
