import { randomBytes } from 'node:crypto'
import { readlink, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { afterFile } from '../../../test/support/after-file.ts'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { type SharedFile, createSharedFiles } from './shared-files.ts'

const BLOCK = 64 * 1024
const content = randomBytes(5 * BLOCK + 100)
let dir: string
let path: string
beforeAll(async () => {
  dir = await temporaryDir(afterFile)
  path = join(dir, 'image')
  await writeFile(path, content)
})

async function readAll(file: SharedFile, start: number, length: number): Promise<Buffer> {
  const parts: Buffer[] = []
  for (let position = start; ;) {
    const part = await file.read(position, length)
    if (part.length === 0) return Buffer.concat(parts)
    parts.push(part)
    position += part.length
  }
}

/** The number of descriptors that are open for files of the folder. */
async function countOpen(): Promise<number> {
  const names = await readdir('/proc/self/fd')
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')))
  return targets.filter((target) => target.startsWith(dir)).length
}

test('each reader gets the bytes from its position on, however many blocks are kept', async () => {
  const reader = fc.record({ start: fc.nat(content.length), length: fc.integer({ min: 1, max: 2 * BLOCK }) })
  const readers = fc.array(reader, { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(readers, fc.nat(4), async (all, kept) => {
      const files = createSharedFiles(kept * BLOCK)
      await Promise.all(
        all.map(async ({ start, length }) => {
          const file = await files.open(path)
          const bytes = await readAll(file, start, Math.max(length, 1000))
          expect(bytes.equals(content.subarray(start))).toBe(true)
          await file.close()
        }),
      )
    }),
    { numRuns: 30 },
  )
})

test('readers of the same bytes share them, at most as many as may be kept', async () => {
  const files = createSharedFiles(2 * BLOCK)
  const [one, other, late] = await Promise.all([files.open(path), files.open(path), files.open(path)])
  const first = await one.read(0, 100)
  expect((await other.read(10, 10)).buffer).toBe(first.buffer)
  await one.read(BLOCK, 1)
  await one.read(2 * BLOCK, 1)
  expect((await late.read(0, 1)).buffer).not.toBe(first.buffer)
  await Promise.all([one.close(), other.close(), late.close()])
})

test('a reader of small pieces reads each block once, however many blocks others read meanwhile', async () => {
  const files = createSharedFiles(BLOCK)
  const [slow, fast] = await Promise.all([files.open(path), files.open(path)])
  const buffers = new Set<ArrayBufferLike>()
  const piece = BLOCK / 4
  for (let position = 0; position < 3 * BLOCK; position += piece) {
    buffers.add((await slow.read(position, piece)).buffer)
    await fast.read(4 * BLOCK, BLOCK)
  }
  expect(buffers.size).toBe(3)
  await Promise.all([slow.close(), fast.close()])
})

test.skipIf(process.platform !== 'linux')('a file is open once, until its last reader has left', async () => {
  const files = createSharedFiles()
  const [one, other] = await Promise.all([files.open(path), files.open(path)])
  expect(await countOpen()).toBe(1)
  await one.close()
  await one.close()
  expect(await countOpen()).toBe(1)
  expect((await other.read(0, 10)).equals(content.subarray(0, 10))).toBe(true)
  await other.close()
  expect(await countOpen()).toBe(0)
})

test('what is kept is forgotten with the last reader, so that a file which replaces it is read', async () => {
  const files = createSharedFiles()
  const old = join(dir, 'replaced')
  await writeFile(old, 'old')
  const first = await files.open(old)
  expect((await first.read(0, 3)).toString()).toBe('old')
  await writeFile(`${old}.new`, 'new')
  await rename(`${old}.new`, old)
  await first.close()
  const second = await files.open(old)
  expect((await second.read(0, 3)).toString()).toBe('new')
  await second.close()
})

test('a missing file can be opened once it exists', async () => {
  const files = createSharedFiles()
  const late = join(dir, 'late')
  const both = await Promise.allSettled([files.open(late), files.open(late)])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await writeFile(late, 'here')
  const file = await files.open(late)
  expect((await file.read(0, 10)).toString()).toBe('here')
  await file.close()
})
