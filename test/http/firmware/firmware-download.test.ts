import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readlink, rename, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemScope } from '../../../src/access/scope.ts'
import { DEFAULT_DOWNLOAD_LIMITS, type DownloadLimits } from '../../../src/firmware/downloads/download-limits.ts'
import { firmwareDownloadUrl } from '../../../src/firmware/downloads/download-url.ts'
import { firmwareDownloadRoutes } from '../../../src/firmware/downloads/routes-download.ts'
import { sweepFirmwareFiles } from '../../../src/firmware/storage/storage.ts'
import { fenceDownloads } from '../../../src/firmware/downloads/store-downloads.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { insertCommands } from '../../../src/devices/commands/store.ts'
import { listFwUpdates, setFwUpdate } from '../../support/fleets/device-upgrades.ts'
import { claimNewDevice } from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { begin, drain } from './paused-downloads.ts'

const SIZE = 1_000_000
/** This exceeds the buffers of the sockets at both ends, so that a client that stops reading stops the server. */
const LARGE = 15 * 1024 * 1024

let now = new Date('2026-11-20T12:00:00Z')
let server: TestServer
let dir: string
const image = randomBytes(SIZE)
let imageId: string
let largeId: string
let commandId: string

beforeAll(async () => {
  server = await startTestServer({ now: () => now })
  dir = join(server.dataDir, 'firmware')
  await sweepFirmwareFiles(server.ctx, { dir })
  imageId = await upload('1.0', image)
  largeId = await upload('2.0', Buffer.alloc(LARGE, 7))
})
afterAll(() => server.close())
beforeEach(() => {
  commandId = uuidv7()
})

async function upload(version: string, bytes: Buffer): Promise<string> {
  const answer = await fetch(`${server.url}/api/v1/orgs/${server.org.orgId}/firmware?version=${version}&models=AP45`, {
    method: 'POST',
    headers: { authorization: `Token ${server.org.token}` },
    body: new Uint8Array(bytes),
  })
  const { id } = (await answer.json()) as { id: string }
  return id
}

function url(id = imageId): string {
  return firmwareDownloadUrl(
    server.ctx,
    { orgId: server.org.orgId, commandId, imageId: id },
    new Date(now.getTime() + 60_000),
  )
}

async function download(headers: Record<string, string> = {}, method = 'GET') {
  const answer = await fetch(url(), { method, headers })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}

function row() {
  return server.ctx.db.selectFrom('firmwareDownload').selectAll().where('commandId', '=', commandId).executeTakeFirst()
}

async function fence(id = imageId): Promise<'fenced' | 'delivered'> {
  const scope = systemScope('rollout', server.org.orgId)
  const fenced = await inTx(server.ctx, (tx) => fenceDownloads(tx, scope, [{ commandId, imageId: id }]))
  return fenced.has(commandId) ? 'fenced' : 'delivered'
}

describe('the address', () => {
  it('needs no credentials and contains no special characters of a shell', async () => {
    expect(new URL(url()).pathname).toMatch(/^\/firmware\/[\w/-]+$/)
    const { status, headers, bytes } = await download()
    expect(status).toBe(200)
    expect(bytes.equals(image)).toBe(true)
    expect(headers.get('content-length')).toBe(String(SIZE))
    expect(headers.get('content-type')).toBe('application/octet-stream')
    expect(headers.get('accept-ranges')).toBe('bytes')
  })

  it('is valid until it expires, and only unchanged', async () => {
    const address = url()
    const parts = address.split('/')
    for (const [position, value] of [
      [4, uuidv7()],
      [5, uuidv7()],
      [6, largeId],
      [7, '9999999999'],
      [8, 'x'.repeat(43)],
    ] as const) {
      const forged = parts.with(position, value).join('/')
      expect((await fetch(forged)).status, forged).toBe(404)
    }
    expect((await fetch(`${address}/more`)).status).toBe(404)
    expect((await fetch(parts.with(4, 'no-uuid').join('/'))).status).toBe(404)
    const before = now
    now = new Date(now.getTime() + 60_000)
    const expired = await fetch(address)
    now = before
    expect(expired.status).toBe(403)
    // The downloader of some switches stores the body of a refusal as the image.
    expect(await expired.text()).toBe('')
    expect(await row()).toBeUndefined()
  })
})

describe('ranges', () => {
  it('resume a download', async () => {
    const first = await download({ range: 'bytes=0-399999' })
    expect(first.status).toBe(206)
    expect(first.headers.get('content-range')).toBe(`bytes 0-399999/${SIZE}`)
    expect((await row())?.deliveredAt).toBeNull()
    const etag = first.headers.get('etag') ?? ''
    const second = await download({ range: 'bytes=400000-', 'if-range': etag })
    expect(second.status).toBe(206)
    expect(Buffer.concat([first.bytes, second.bytes]).equals(image)).toBe(true)
    expect(await row()).toMatchObject({ bytesServed: String(SIZE), deliveredAt: now, fencedAt: null })
  })

  it('are ignored if the file is another one or the range is invalid', async () => {
    for (const headers of [
      { range: 'bytes=0-9', 'if-range': '"other"' },
      { range: 'bytes=0-1,5-6' },
      { range: 'lines=1-2' },
    ] as Record<string, string>[]) {
      const { status, bytes } = await download(headers)
      expect(status).toBe(200)
      expect(bytes).toHaveLength(SIZE)
    }
  })

  it('are refused if they start after the end', async () => {
    const { status, headers } = await download({ range: `bytes=${SIZE}-` })
    expect(status).toBe(416)
    expect(headers.get('content-range')).toBe(`bytes */${SIZE}`)
  })

  it('do not apply to HEAD, which is not counted as a download', async () => {
    const { status, headers, bytes } = await download({}, 'HEAD')
    expect([status, bytes.length, headers.get('content-length')]).toEqual([200, 0, String(SIZE)])
    expect((await download({ range: 'bytes=0-9' }, 'HEAD')).headers.get('content-length')).toBe('10')
    expect(await row()).toBeUndefined()
  })
})

describe('the fence', () => {
  it('stops a download that has not begun', async () => {
    expect(await fence()).toBe('fenced')
    expect(await fence()).toBe('fenced')
    expect((await download()).status).toBe(403)
    expect((await row())?.deliveredAt).toBeNull()
  })

  it('stops a download that has not sent its end, whatever range is requested', async () => {
    await download({ range: `bytes=0-${SIZE - 2}` })
    expect(await fence()).toBe('fenced')
    expect((await download({ range: `bytes=${SIZE - 1}-` })).status).toBe(403)
  })

  it('is too late for a download whose last byte was sent, even if that byte was sent first', async () => {
    await download({ range: 'bytes=-1' })
    expect(await fence()).toBe('delivered')
    expect((await download()).status).toBe(200)
    expect(await fence()).toBe('delivered')
    expect((await row())?.fencedAt).toBeNull()
  })

  it('interrupts a running download before its last byte', async () => {
    const response = await begin(url(largeId))
    await waitUntil('it has begun', async () => (await row()) !== undefined)
    expect(await fence(largeId)).toBe('fenced')
    const { complete, bytes } = await drain(response)
    expect(complete).toBe(false)
    expect(bytes).toBeLessThan(LARGE)
    expect((await row())?.deliveredAt).toBeNull()
  })

  it('excludes delivery and is excluded by it, in any order', async () => {
    for (let round = 0; round < 20; round += 1) {
      commandId = uuidv7()
      const part = fetch(url(), { headers: { range: `bytes=${SIZE - 10}-` } })
        .then(async (answer) => (await answer.arrayBuffer()).byteLength === 10 && answer.status === 206)
        .catch(() => false)
      const [delivered, fenced] = await Promise.all([part, fence()])
      expect(delivered, `round ${round}`).toBe(fenced === 'delivered')
    }
  })
})

describe('the displayed progress of a device', () => {
  const update = { progress: 5, status: 'inprogress', status_id: 7, timestamp: 1, will_retry: false } as const

  async function begun(status: 'inprogress' | 'failed') {
    const device = await claimNewDevice(server)
    const times = { createdAt: now, expiresAt: now }
    const params = { image_id: imageId, version: '1.0' }
    const order = {
      id: commandId,
      deviceId: device.id,
      siteId: null,
      siteUpgradeId: null,
      kind: 'upgrade',
      params,
      attempt: 1,
    } as const
    const scope = systemScope('rollout', server.org.orgId)
    await inTx(server.ctx, (tx) => insertCommands(tx, scope, [{ ...order, ...times }]))
    await setFwUpdate(server.ctx.db, device.id, { ...update, status })
    return async () => (await listFwUpdates(server.ctx.db, device.id))[0]
  }

  it('follows the bytes, up to 70 when the image has arrived', async () => {
    const shown = await begun('inprogress')
    await download({ range: `bytes=0-${SIZE / 2 - 1}` })
    expect(await shown()).toEqual({ ...update, progress: 37, status_id: 8, timestamp: now.getTime() / 1000 })
    await download({ range: `bytes=0-${SIZE - 2}` })
    expect(await shown()).toMatchObject({ progress: 69, status_id: 9 })
    await download({ range: `bytes=${SIZE - 1}-` })
    expect(await shown()).toMatchObject({ progress: 70, status_id: 10 })
    await download()
    expect(await shown()).toMatchObject({ progress: 70, status_id: 10 })
  })

  it('is not changed after the update has ended', async () => {
    const shown = await begun('failed')
    await download()
    expect(await shown()).toEqual({ ...update, status: 'failed' })
  })
})

describe('one address', () => {
  it('serves four responses at once, and the next one when one has ended', async () => {
    const [first, ...others] = await Promise.all(Array.from({ length: 4 }, () => begin(url(largeId))))
    const refused = await fetch(url(largeId))
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('10')
    expect(await refused.text()).toBe('')
    expect((await fetch(url(largeId), { method: 'HEAD' })).status).toBe(200)
    const mine = commandId
    commandId = uuidv7()
    expect((await download()).status).toBe(200)
    commandId = mine
    first?.destroy()
    const next = await waitUntil('a place', async () => {
      const response = await begin(url(largeId))
      if (response.statusCode === 200) return response
      response.destroy()
      return null
    })
    for (const response of [next, ...others]) response.destroy()
  })

  it('reserves no place for refused requests', async () => {
    await fence()
    for (let round = 0; round < 6; round += 1) expect((await download()).status).toBe(403)
  })
})

describe('limits of the server', () => {
  async function listen(
    limits: Partial<DownloadLimits>,
  ): Promise<FastifyInstance & { readonly at: (path: string) => string }> {
    const http = await createHttpServer({ log: server.ctx.log, tls: null })
    await http.register(firmwareDownloadRoutes(server.ctx, { dir }, { ...DEFAULT_DOWNLOAD_LIMITS, ...limits }))
    const address = await http.listen({ host: '127.0.0.1', port: 0 })
    return Object.assign(http, { at: (path: string) => address + new URL(path).pathname })
  }

  it('let a request wait for its turn, and refuse it if that takes too long', async () => {
    const http = await listen({ atOnce: 1, waitMs: 200 })
    const first = await begin(http.at(url(largeId)))
    commandId = uuidv7()
    const refused = await fetch(http.at(url()))
    expect([refused.status, refused.headers.get('retry-after'), await refused.text()]).toEqual([503, '10', ''])
    expect(await row()).toBeUndefined()
    await http.close()
    await drain(first)
    const patient = await listen({ atOnce: 1, waitMs: 60_000 })
    const running = await begin(patient.at(url(largeId)))
    commandId = uuidv7()
    const waiting = fetch(patient.at(url()))
    running.destroy()
    expect(Buffer.from(await (await waiting).arrayBuffer()).equals(image)).toBe(true)
    await patient.close()
  })

  it('slow the devices of a site down together, and send every byte', async () => {
    // The image takes 500 ms after the first 500 ms.
    const http = await listen({ siteBytesPerS: SIZE })
    const startMs = performance.now()
    const bodies = await Promise.all(
      [0, SIZE / 2].map(async (start) => {
        const headers = { range: `bytes=${start}-${start + SIZE / 2 - 1}` }
        return Buffer.from(await (await fetch(http.at(url()), { headers })).arrayBuffer())
      }),
    )
    expect(performance.now() - startMs).toBeGreaterThan(400)
    expect(Buffer.concat(bodies).equals(image)).toBe(true)
    await http.close()
  })

  it('disconnect a device that takes too long for a chunk', async () => {
    const http = await listen({ slowChunkMs: 300 })
    const response = await begin(http.at(url(largeId)))
    expect(response.statusCode).toBe(200)
    // The device keeps its connection open and reads nothing.
    const isGone = () =>
      new Promise<boolean>((resolve) => http.server.getConnections((_, count) => resolve(count === 0)))
    await waitUntil('the server has ended the connection', isGone)
    expect((await row())?.deliveredAt).toBeNull()
    response.destroy()
    await http.close()
  })
})

describe('a client', () => {
  it('that stops reading stops the server, and one that disconnects leaves no file open', async () => {
    const response = await begin(url(largeId))
    await waitUntil('it has begun', async () => (await row()) !== undefined)
    response.destroy()
    expect((await row())?.deliveredAt).toBeNull()
    expect(await fence(largeId)).toBe('fenced')
  })

  it.runIf(existsSync('/proc/self/fd'))('that disconnects at any moment leaves no file open', async () => {
    const [host, port] = [new URL(server.url).hostname, Number(new URL(server.url).port)]
    const path = new URL(url(largeId)).pathname
    for (let round = 0; round < 50; round += 1) {
      const socket = connect(port, host, () => {
        socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
        if (round % 2 === 0) socket.destroy()
        else socket.once('data', () => socket.destroy())
      })
      await once(socket, 'close')
    }
    await waitUntil('the files are closed', async () => {
      const open = await readdir('/proc/self/fd')
      const paths = await Promise.all(open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
      return !paths.includes(join(dir, largeId))
    })
  })

  it('gets an error if the file is missing', async () => {
    const file = join(dir, imageId)
    await rename(file, `${file}.away`)
    expect((await download()).status).toBe(503)
    await rename(`${file}.away`, file)
  })

  it('gets an interrupted response, not a short image, if the file is too short', async () => {
    const file = join(dir, largeId)
    await rename(file, `${file}.away`)
    await writeFile(file, Buffer.alloc(1000))
    const { complete } = await drain(await begin(url(largeId)))
    expect(complete).toBe(false)
    expect((await row())?.deliveredAt).toBeNull()
    await rename(`${file}.away`, file)
  })
})

describe('a stop', () => {
  it('interrupts downloads instead of waiting for them', async () => {
    const response = await begin(url(largeId))
    await server.http.close()
    expect((await drain(response)).complete).toBe(false)
    expect((await row())?.deliveredAt).toBeNull()
  })
})
