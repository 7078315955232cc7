// Downloads and uploads from servers whose certificates are not accepted.
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { NotExecuted } from '../../../src/agent/appliance.ts'
import { createDownloads } from '../../../src/agent/downloads/download.ts'
import { uploadSupport } from '../../../src/agent/downloads/support.ts'
import { createUpload } from '../../../src/agent/downloads/upload.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { listen } from '../../webhooks/delivery/listen.ts'
import { selfSigned } from '../../webhooks/self-signed.ts'

const HOUR_MS = 3_600_000
const TRIES = 3
const limits = { tries: TRIES, firstPauseMs: 1, longestPauseMs: 2 }
const { signal } = new AbortController()
const rejected = "The agent does not accept the server's certificate: "

const certificates = {
  untrusted: { made: () => selfSigned('127.0.0.1'), isTrusted: false },
  expired: { made: () => selfSigned('127.0.0.1', { notAfter: new Date(Date.now() - HOUR_MS) }), isTrusted: true },
  'of another host': { made: () => selfSigned('127.0.0.2'), isTrusted: true },
  'not valid yet': {
    made: () =>
      selfSigned('127.0.0.1', {
        notBefore: new Date(Date.now() + HOUR_MS),
        notAfter: new Date(Date.now() + 2 * HOUR_MS),
      }),
    isTrusted: true,
  },
} as const

/** Tries to download from a server with the certificate, and to upload to it. @returns What both failed with, and how often they were tried. */
async function tryBoth(kind: keyof typeof certificates) {
  const { made, isTrusted } = certificates[kind]
  const certificate = await made()
  let connections = 0
  const server = createServer(certificate).on('connection', () => (connections += 1))
  const origin = `https://127.0.0.1:${await listen(server)}`
  const ca = isTrusted ? [certificate.cert] : []
  const folder = await temporaryDir()
  const path = join(folder, 'file')
  await writeFile(path, 'content')
  const failureOf = async (work: Promise<unknown>) => {
    connections = 0
    const error: unknown = await work.catch((reason: unknown) => reason)
    return { error: String(error), connections }
  }
  const options = { folder, ca, publicKey: null, signal, onPoint: () => {}, limits }
  const artifact = { uri: `${origin}/a`, size: 7, sha256: 'a'.repeat(64) }
  return [
    await failureOf(createDownloads(options).fetch(artifact, () => {})),
    await failureOf(createUpload({ ca, signal, limits })({ uri: `${origin}/support-files/a`, path, name: 'machine' })),
  ]
}

test.each([
  ['untrusted', 'self-signed certificate'],
  ['expired', 'certificate has expired'],
  [
    'of another host',
    "Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: 127.0.0.2",
  ],
] as const)('a server whose certificate is %s is not tried again, and the reason says so', async (kind, fault) => {
  for (const { error, connections } of await tryBoth(kind)) {
    expect(error).toBe(`Error: ${rejected}${fault}`)
    expect(connections).toBe(1)
  }
})

test('a server whose certificate is not valid yet is tried again, because the clock of the machine may be wrong', async () => {
  for (const { error, connections } of await tryBoth('not valid yet')) {
    expect(error).toBe('TransportError: certificate is not yet valid')
    expect(connections).toBe(TRIES)
  }
})

test('a part that was received stays when a later certificate is not accepted, and the download continues with it', async () => {
  const bytes = Buffer.alloc(200_000, 'a')
  const begun = 100_000
  const [certificate, untrusted] = [await selfSigned('127.0.0.1'), await selfSigned('127.0.0.1')]
  const ranges: (string | undefined)[] = []
  let open: ServerResponse | null = null
  const server = createServer(certificate, ({ headers }, response) => {
    ranges.push(headers.range)
    const start = Number(headers.range?.match(/\d+/)?.[0] ?? 0)
    if (start === 0) {
      response.writeHead(200, { etag: '"v1"' }).write(bytes.subarray(0, begun))
      open = response
      return
    }
    const range = `bytes ${start}-${bytes.length - 1}/${bytes.length}`
    response.writeHead(206, { etag: '"v1"', 'content-range': range }).end(bytes.subarray(start))
  })
  const uri = `https://127.0.0.1:${await listen(server)}/a`
  const artifact = { uri, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  const breakOff = () => {
    if (open === null) return
    server.setSecureContext(untrusted)
    open.destroy()
    open = null
  }
  const options = {
    folder: await temporaryDir(),
    ca: [certificate.cert],
    publicKey: null,
    signal,
    onPoint: breakOff,
    limits,
  }
  const downloads = createDownloads(options)
  await expect(downloads.fetch(artifact, () => {})).rejects.toThrow(rejected)
  server.setSecureContext(certificate)
  expect((await readFile(await downloads.fetch(artifact, () => {}))).equals(bytes)).toBe(true)
  expect(ranges).toEqual([undefined, expect.stringMatching(/^bytes=[1-9]/)])
})

test('files are not even collected for an address that is none', async () => {
  const parts = { folder: await temporaryDir(), upload: createUpload({ ca: [], signal }), onPoint: () => {} }
  const machine = { name: 'machine', collectSupport: () => Promise.reject(new Error('collected')) }
  const uploaded = uploadSupport(parts, machine, { command_id: 'a', uri: 'http://[::/support-files' })
  await expect(uploaded).rejects.toThrow(NotExecuted)
})
