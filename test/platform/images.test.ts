import { randomUUID } from 'node:crypto'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pino } from 'pino'
import sharp from 'sharp'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { waitUntil } from '../support/wait-until.ts'
import { hollowPng, interlacedPng } from '../maps/pictures.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { DEFAULT_DECODE_LIMITS } from '../../src/platform/images/decoder-limits.ts'
import {
  type ImageFiles,
  discardImage,
  keepImage,
  openImage,
  receiveImage,
  removeImage,
  shrinkImage,
  sweepImages,
} from '../../src/platform/images/image-files.ts'
import { createDiskSpace } from '../../src/platform/storage/disk-space.ts'
import { createUploadQuota } from '../../src/platform/storage/upload-quota.ts'

/** Decoders yield the processors to everything else. */
vi.setConfig({ testTimeout: 120_000 })

const log = pino({ level: 'silent' })
const noReferences = async () => new Set<string>()

let files: ImageFiles
beforeEach(async () => {
  const dir = join(await temporaryDir(), 'images')
  const quota = createUploadQuota({
    field: 'file',
    what: 'pictures',
    orgMaxBytes: 1024 ** 3,
    totalMaxBytes: 1024 ** 3,
    getUsage: async () => ({ orgBytes: 0, totalBytes: 0 }),
    disk: createDiskSpace(dir, 0),
  })
  files = { dir, maxBytes: 2 * 1024 * 1024, decode: DEFAULT_DECODE_LIMITS, quota }
  await sweepImages(log, files, noReferences)
})

const blank = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#446688' } })

const orgId = randomUUID()
const uploadOf = (bytes: Buffer, declaredType: string | null = null) => ({
  orgId,
  body: Readable.from([bytes]),
  declaredType,
})
const receive = (bytes: Buffer, type: string | null = null) => receiveImage(files, uploadOf(bytes, type))

/** Lists everything in the folder except the incoming files. */
async function storedFiles(): Promise<string[]> {
  const incoming = await readdir(join(files.dir, 'incoming'))
  const names = await readdir(files.dir)
  return [...names.filter((name) => name !== 'incoming'), ...incoming]
}

describe('receiveImage', () => {
  it.each(['png', 'jpeg'] as const)(
    'returns the type and size of a %s and keeps its pixels unchanged',
    async (format) => {
      const bytes = await blank(40, 30).toFormat(format).toBuffer()
      const received = await receive(bytes, `image/${format}; charset=binary`)
      expect(received).toMatchObject({ contentType: `image/${format}`, width: 40, height: 30 })
      await keepImage(files, received)
      expect(await storedFiles()).toEqual([received.name])
      const file = await openImage(files, received.name)
      const content = (await file?.readFile()) ?? Buffer.alloc(0)
      await file?.close()
      expect(received.sizeBytes).toBe(content.length)
      expect(await sharp(content).raw().toBuffer()).toEqual(await sharp(bytes).raw().toBuffer())
      await removeImage(files, received.name)
      expect(await openImage(files, received.name)).toBeNull()
    },
  )

  it('returns width and height of a photo as it is displayed', async () => {
    const turned = await blank(40, 30).jpeg().withMetadata({ orientation: 6 }).toBuffer()
    expect(await receive(turned)).toMatchObject({ width: 30, height: 40 })
  })

  const noise = (size: number) =>
    sharp({
      create: {
        width: size,
        height: size,
        channels: 3,
        background: '#000',
        noise: { type: 'gaussian', mean: 128, sigma: 60 },
      },
    })

  const passes = (side: number, chromaSubsampling: string) =>
    blank(side, side).jpeg({ progressive: true, chromaSubsampling }).toBuffer()

  it('accepts a progressive one of the size of a large plan', async () => {
    expect(await receive(await passes(6000, '4:2:0'))).toMatchObject({ width: 6000 })
  })

  it.each<[string, () => Promise<Buffer>, string | null, string]>([
    ['text', async () => Buffer.from('not an image'), 'image/png', 'neither PNG nor JPEG'],
    ['nothing', async () => Buffer.alloc(0), null, 'neither PNG nor JPEG'],
    ['another format', () => blank(4, 4).webp().toBuffer(), 'image/webp', 'neither PNG nor JPEG'],
    ['a drawing with a program in it', async () => Buffer.from('<svg><script/></svg>'), 'image/png', 'neither'],
    ['a PNG that calls itself JPEG', () => blank(4, 4).png().toBuffer(), 'image/jpeg', 'not image/jpeg'],
    ['a JPEG that calls itself PNG', () => blank(4, 4).jpeg().toBuffer(), 'image/png', 'not image/png'],
    ['a PNG that is cut', async () => (await noise(300).png().toBuffer()).subarray(0, 9000), null, 'broken'],
    ['a JPEG that is cut', async () => (await noise(300).jpeg().toBuffer()).subarray(0, 9000), null, 'broken'],
    ['a signature alone', async () => Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), null, 'broken'],
    ['a hundred megapixels in a few bytes', async () => hollowPng(10_000, 10_000), null, 'more than 50000000'],
    ['an interlaced one of many bytes a pixel', async () => interlacedPng(7000, 7000), null, 'interlaced'],
    ['a progressive one of many samples a pixel', () => passes(6000, '4:4:4'), null, 'progressive'],
    ['a bomb of a long line', async () => hollowPng(60_000, 1000), null, 'more than 50000000'],
  ])('refuses %s and stores nothing', async (_what, make, type, why) => {
    await expect(receive(await make(), type)).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('Invalid field file: '),
      fields: { reason: expect.stringContaining(why) },
    })
    expect(await storedFiles()).toEqual([])
  })

  it('refuses an image that needs too much memory to decode, and accepts a small one under the same limit', async () => {
    const decode = { ...DEFAULT_DECODE_LIMITS, memoryBytes: 120 * 1024 * 1024 }
    const receiveBy = async (bytes: Buffer) => receiveImage({ ...files, decode }, uploadOf(bytes))
    await expect(receiveBy(await passes(6000, '4:2:0'))).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining('Invalid field file: '),
      fields: { reason: 'takes more than 120 MiB of memory to decode' },
    })
    expect(await storedFiles()).toEqual([])
    expect(await receiveBy(await passes(60, '4:2:0'))).toMatchObject({ width: 60 })
  })

  // No process can start and decode within a millisecond.
  it.each([
    [
      'that needs too much processor time',
      { cpuMs: 1 },
      'invalid',
      'takes more than 0.001 s of processor time to decode',
    ],
    ['for which the machine is too busy', { withinMs: 1 }, 'unavailable', undefined],
  ])('refuses an image %s', async (_what, limit, code, reason) => {
    const decode = { ...DEFAULT_DECODE_LIMITS, ...limit }
    const bytes = await blank(40, 30).png().toBuffer()
    const refusal = await receiveImage({ ...files, decode }, uploadOf(bytes)).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code })
    expect(Reflect.get(Object(refusal), 'fields')?.reason).toBe(reason)
    expect(await storedFiles()).toEqual([])
  })

  it('refuses an upload that becomes too large or is interrupted, and stores nothing', async () => {
    await expect(receive(Buffer.alloc(files.maxBytes + 1))).rejects.toMatchObject({ code: 'too_large' })
    const broken = Object.assign(new Error('gone'), { code: 'ECONNRESET' })
    const body = new Readable({
      read() {
        this.destroy(broken)
      },
    })
    await expect(receiveImage(files, { orgId, body, declaredType: null })).rejects.toMatchObject({ code: 'invalid' })
    expect(await storedFiles()).toEqual([])
  })
})

describe('shrinkImage', () => {
  it('creates a copy within the sides, of the same type, and never a larger one', async () => {
    const original = await receive(await blank(400, 200).png().toBuffer())
    await keepImage(files, original)
    const small = await shrinkImage(files, original.name, 100)
    expect(small).toMatchObject({ contentType: 'image/png', width: 100, height: 50 })
    await keepImage(files, small)
    expect((await storedFiles()).sort()).toEqual([original.name, small.name].sort())
    const same = await shrinkImage(files, original.name, 1000)
    expect(same).toMatchObject({ width: 400, height: 200 })
    await discardImage(same)
  })

  it('throws not_found if the image is missing', async () => {
    await expect(shrinkImage(files, '00000000-0000-4000-8000-000000000000.png', 10)).rejects.toMatchObject({
      code: 'not_found',
    })
  })
})

it('a sweep removes unreferenced files and interrupted uploads, and nothing else', async () => {
  const [one, two] = [
    await receive(await blank(2, 2).png().toBuffer()),
    await receive(await blank(2, 2).png().toBuffer()),
  ]
  await keepImage(files, one)
  await keepImage(files, two)
  await receive(await blank(2, 2).jpeg().toBuffer())
  await writeFile(join(files.dir, 'of-somebody-else'), '')
  await sweepImages(log, files, async (names) => {
    expect([...names].sort()).toEqual([one.name, two.name].sort())
    return new Set([two.name])
  })
  expect((await storedFiles()).sort()).toEqual(['of-somebody-else', two.name].sort())
})

describe.runIf(process.platform === 'linux')('the processes of decoders', () => {
  /** Returns the ids of processes that run a program of this folder, and whose parent is `parent`. */
  async function listChildren(parent: number): Promise<{ readonly pid: number; readonly nice: number }[]> {
    const ids = (await readdir('/proc')).map(Number).filter((id) => id > 0)
    const all = await Promise.all(
      ids.map(async (pid) => {
        const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
        const program = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        return { pid, nice: Number(fields[16]), isOne: Number(fields[1]) === parent && program.includes('/decoder-') }
      }),
    )
    return all.filter(({ isOne }) => isOne)
  }

  it('are started by one process of low priority, which is started again if it has died', async () => {
    const plan = await blank(20, 10).png().toBuffer()
    await discardImage(await receive(plan))
    const [first, ...others] = await listChildren(process.pid)
    expect(others).toEqual([])
    expect(first?.nice).toBeGreaterThanOrEqual(10)
    process.kill(first?.pid ?? 0, 'SIGKILL')
    await waitUntil('it has died', async () => (await listChildren(process.pid)).length === 0)
    await discardImage(await receive(plan))
    const [second] = await listChildren(process.pid)
    expect(second?.pid).not.toBe(first?.pid)
    await waitUntil('its decoder has ended', async () => (await listChildren(second?.pid ?? 0)).length === 0)
  })
})
