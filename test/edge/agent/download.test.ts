import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, readdir, utimes, writeFile } from 'node:fs/promises'
import { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { NotExecuted } from '../../../src/agent/appliance.ts'
import { type DownloadOptions, type Downloads, createDownloads } from '../../../src/agent/downloads/download.ts'
import { Interrupted } from '../../../src/agent/interrupted.ts'
import { parseRange } from '../../../src/firmware/downloads/range.ts'
import type { Artifact } from '../../../src/gateway/edge/messages.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

const bytes = randomBytes(300_000)
const sha256 = createHash('sha256').update(bytes).digest('hex')

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void

/** Serves by the handler; resolves with the artifact to download and the headers of the requests. */
async function serve(handler: Handler) {
  const ranges: (string | undefined)[] = []
  const server = createServer((request, response) => {
    ranges.push(request.headers.range)
    handler(request, response, ranges.length)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const artifact: Artifact = { uri: `${origin}/a`, size: bytes.length, sha256 }
  return { ranges, origin, artifact }
}

/** Answers as the server of Signalbox does. */
const honest: Handler = ({ headers }, response) => {
  const range = headers['if-range'] === '"v1"' ? parseRange(headers.range, bytes.length) : 'whole'
  if (typeof range === 'string') return void response.writeHead(200, { etag: '"v1"' }).end(bytes)
  const { start, end } = range
  response.writeHead(206, { etag: '"v1"', 'content-range': `bytes ${start}-${end}/${bytes.length}` })
  response.end(bytes.subarray(start, end + 1))
}

/** Sends some bytes first, and breaks the connection when they have been written to the disk; then is honest. */
function breaking(
  part: Buffer,
  headers: OutgoingHttpHeaders,
): { readonly handler: Handler; readonly onPoint: () => void } {
  let broken: ServerResponse | null = null
  return {
    handler(request, response, count) {
      if (count > 1) return honest(request, response, count)
      response.writeHead(200, headers).write(part)
      broken = response
    },
    onPoint: () => broken?.destroy(),
  }
}

interface Place {
  readonly folder: string
  readonly fetch: Downloads['fetch']
  readonly removeOthers: Downloads['removeOthers']
}

async function downloads(changes: Partial<DownloadOptions> = {}): Promise<Place> {
  const folder = changes.folder ?? join(await temporaryDir(), 'artifacts')
  const limits = { tries: 3, firstPauseMs: 1, longestPauseMs: 2, ...changes.limits }
  const { signal } = new AbortController()
  const options = { folder, ca: [], publicKey: null, signal, onPoint: () => {}, ...changes, limits }
  const made = createDownloads(options)
  return {
    folder,
    fetch: (artifact, onPercent) => made.fetch(artifact, onPercent),
    removeOthers: (artifact) => made.removeOthers(artifact),
  }
}

const nothing = (): void => {}

describe('a download', () => {
  test('ends in time, however slowly the server sends', async () => {
    const { artifact } = await serve((_request, response) => {
      response.writeHead(200, { etag: '"v1"' }).write(bytes.subarray(0, 100_000))
      const drip = setInterval(() => response.write(bytes.subarray(0, 1)), 5)
      response.on('close', () => clearInterval(drip))
    })
    const { fetch } = await downloads({ limits: { longestMs: 500 } })
    await expect(fetch(artifact, nothing)).rejects.toThrow('The download took longer than 0.5 s')
  })

  test('is complete, private, and not repeated while the file is right', async () => {
    const { artifact, ranges } = await serve(honest)
    const { fetch, folder } = await downloads()
    const percents: number[] = []
    const path = await fetch(artifact, (percent) => percents.push(percent))
    expect((await readFile(path)).equals(bytes)).toBe(true)
    expect([percents[0], percents.at(-1)]).toEqual([0, 100])
    expect(await readdir(folder)).toEqual([sha256])
    expect(await fetch(artifact, nothing)).toBe(path)
    expect(ranges).toHaveLength(1)
    await writeFile(path, 'damaged')
    await fetch(artifact, nothing)
    expect((await readFile(path)).equals(bytes)).toBe(true)
  })

  test('continues where the connection broke', async () => {
    const { handler, onPoint } = breaking(bytes.subarray(0, 100_000), { etag: '"v1"' })
    const { artifact, ranges } = await serve(handler)
    const { fetch } = await downloads({ onPoint })
    expect((await readFile(await fetch(artifact, nothing))).equals(bytes)).toBe(true)
    expect(ranges).toEqual([undefined, expect.stringMatching(/^bytes=[1-9][0-9]*-$/)])
  })

  test.each([
    ['has another file by now', { etag: '"v0"' }, expect.stringMatching(/^bytes=/)],
    ['does not say whether it is the same bytes', { etag: 'W/"v1"' }, undefined],
    ['names no version', {}, undefined],
  ])('begins again where the server %s', async (_what, headers, range) => {
    const { handler, onPoint } = breaking(randomBytes(100_000), headers)
    const { artifact, ranges } = await serve(handler)
    const { fetch } = await downloads({ onPoint })
    expect((await readFile(await fetch(artifact, nothing))).equals(bytes)).toBe(true)
    expect(ranges).toEqual([undefined, range])
  })

  test('begins again where the part on the disk is not what was received', async () => {
    const { artifact, ranges } = await serve(honest)
    const { fetch, folder } = await downloads()
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, `${sha256}.part`), randomBytes(1000))
    await writeFile(join(folder, `${sha256}.json`), JSON.stringify({ size: bytes.length, etag: '"v1"' }))
    expect((await readFile(await fetch(artifact, nothing))).equals(bytes)).toBe(true)
    expect(ranges).toEqual(['bytes=1000-', undefined])
  })

  test('waits while the server is busy, but not for ever', async () => {
    const { artifact } = await serve((request, response, count) =>
      count < 3 ? void response.writeHead(503).end() : honest(request, response, count),
    )
    await (await downloads()).fetch(artifact, nothing)
    const { artifact: never, ranges } = await serve((_request, response) => void response.writeHead(429).end())
    await expect((await downloads()).fetch(never, nothing)).rejects.toThrow('The server answered 429')
    expect(ranges).toHaveLength(3)
  })

  test('ends with the reason when no server listens', async () => {
    const { fetch } = await downloads()
    const artifact = { uri: 'http://127.0.0.1:1/a', size: 5, sha256 }
    await expect(fetch(artifact, nothing)).rejects.toThrow('ECONNREFUSED')
  })

  test('is interrupted when the agent stops, and keeps what it has', async () => {
    const { artifact } = await serve((_request, response) => {
      response.writeHead(200, { etag: '"v1"' }).write(bytes.subarray(0, 1000))
    })
    const stopping = new AbortController()
    const { fetch, folder } = await downloads({ signal: stopping.signal, onPoint: () => stopping.abort() })
    await expect(fetch(artifact, nothing)).rejects.toThrow(Interrupted)
    expect(await readdir(folder)).toEqual([`${sha256}.json`, `${sha256}.part`])
  })

  test('keeps what it has when the server refuses to go on, and continues with it', async () => {
    const { handler, onPoint } = breaking(bytes.subarray(0, 100_000), { etag: '"v1"' })
    const { artifact, ranges } = await serve((request, response, count) =>
      count === 2 ? void response.writeHead(403).end() : handler(request, response, count),
    )
    const { fetch } = await downloads({ onPoint })
    await expect(fetch(artifact, nothing)).rejects.toThrow('answered 403')
    expect((await readFile(await fetch(artifact, nothing))).equals(bytes)).toBe(true)
    const continued = expect.stringMatching(/^bytes=[1-9]/)
    expect(ranges).toEqual([undefined, continued, continued])
  })

  test('keeps the newest of the earlier ones, as many as one upgrade needs', async () => {
    const { artifact } = await serve(honest)
    const { fetch, folder, removeOthers } = await downloads()
    await mkdir(folder, { recursive: true })
    const names = ['a', 'b', 'c', 'd', 'e'].map((digit) => digit.repeat(64))
    for (const [index, name] of names.entries()) {
      for (const path of [join(folder, `${name}.part`), join(folder, `${name}.json`)]) {
        await writeFile(path, 'x')
        await utimes(path, index, index)
      }
    }
    await fetch(artifact, nothing)
    const kept = names.slice(1).flatMap((name) => [`${name}.json`, `${name}.part`])
    expect(await readdir(folder)).toEqual([sha256, ...kept].toSorted())
    await removeOthers(artifact)
    expect(await readdir(folder)).toEqual([sha256])
  })
})

describe('a hostile server', () => {
  const other = randomBytes(bytes.length)
  test.each<[string, Handler, string]>([
    ['other bytes', (_request, response) => void response.end(other), 'does not have the SHA-256'],
    [
      'another length',
      (_request, response) => void response.writeHead(200, { 'content-length': 5 }).end('12345'),
      'sends 5 bytes, not 300000',
    ],
    [
      'more bytes than announced',
      (_request, response) => {
        response.write(bytes)
        response.end('!')
      },
      'more than 300000 bytes',
    ],
    [
      'bytes without end',
      (_request, response) => {
        const pour = (): void => {
          while (!response.destroyed && response.write(other)) continue
          response.once('drain', pour)
        }
        pour()
      },
      'more than 300000 bytes',
    ],
    [
      'a redirect',
      (_request, response) => void response.writeHead(302, { location: 'http://127.0.0.1:2/' }).end(),
      'redirects',
    ],
    [
      'a part that nobody asked for',
      (_request, response) => void response.writeHead(206, { 'content-range': 'bytes 5-9/10' }).end('12345'),
      'not bytes 0-299999/300000',
    ],
    [
      'an encoded file',
      (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(),
      'encodes the file',
    ],
    ['a refusal', (_request, response) => void response.writeHead(403).end(), 'answered 403'],
  ])('that sends %s is found out, and leaves nothing behind', async (_what, handler, reason) => {
    const { artifact } = await serve(handler)
    const { fetch, folder } = await downloads()
    await expect(fetch(artifact, nothing)).rejects.toThrow(reason)
    expect(await readdir(folder)).toEqual([])
  })

  test.each<[string, Handler]>([
    ['sends nothing', () => {}],
    ['sends too little', (_request, response) => void response.writeHead(200).write('x')],
  ])('that %s is given up after a few attempts', async (_what, handler) => {
    const { artifact, ranges } = await serve(handler)
    const { fetch } = await downloads({ limits: { stallMs: 50 } })
    await expect(fetch(artifact, nothing)).rejects.toThrow('sent too little in 0.05 s')
    expect(ranges).toHaveLength(3)
  })

  test('that always sends a truncated file is given up', async () => {
    const { artifact, ranges } = await serve((_request, response) => {
      response.write(bytes.subarray(0, 1000))
      response.end()
    })
    const { fetch } = await downloads()
    await expect(fetch(artifact, nothing)).rejects.toThrow('sent only 1000 of 300000 bytes')
    expect(ranges).toHaveLength(3)
  })
})

describe('an artifact is not downloaded', () => {
  const refusalOf = async (artifact: Artifact, changes: Partial<DownloadOptions> = {}): Promise<unknown> =>
    (await downloads(changes)).fetch(artifact, nothing).catch((error: unknown) => error)
  const artifact = { uri: 'http://127.0.0.1:1/a', size: 5, sha256 }

  test.each(['file:///etc/passwd', 'ftp://127.0.0.1/a', 'nowhere', 'javascript:1'])('from %s', async (uri) => {
    const refusal = await refusalOf({ ...artifact, uri })
    expect(refusal).toBeInstanceOf(NotExecuted)
    expect(String(refusal)).toContain('neither http nor https')
  })

  test('that leaves too little space, also without the earlier ones', async () => {
    const folder = await temporaryDir()
    await writeFile(join(folder, 'a'.repeat(64)), 'x')
    const refusal = await refusalOf({ ...artifact, size: 2 ** 50 }, { folder })
    expect(await readdir(folder)).toEqual([])
    expect(refusal).toBeInstanceOf(NotExecuted)
    expect(String(refusal)).toContain('bytes free, but the artifact needs')
  })

  test('without the signature of the key that the operator has configured', async () => {
    const { artifact: served } = await serve(honest)
    const [own, foreign] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')]
    const signed = (key: typeof own.privateKey) => sign(null, Buffer.from(sha256, 'hex'), key).toString('base64')
    const { publicKey } = own
    expect(String(await refusalOf(served, { publicKey }))).toContain('has no signature')
    const forged = { ...served, signature: signed(foreign.privateKey) }
    expect(await refusalOf(forged, { publicKey })).toBeInstanceOf(NotExecuted)
    const { fetch } = await downloads({ publicKey })
    expect(await fetch({ ...served, signature: signed(own.privateKey) }, nothing)).toContain(sha256)
  })
})
