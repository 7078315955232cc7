import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { afterFile } from '../support/after-file.ts'
import { readConsoleFiles } from '../../src/http/console/console-files.ts'
import { serveConsole } from '../../src/http/console/serve-console.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const script = 'export const text = "a script"\n'.repeat(20)

let http: FastifyInstance
let url: string
beforeAll(async () => {
  const dir = await temporaryDir(afterFile)
  await mkdir(join(dir, 'assets'))
  await writeFile(join(dir, 'index.html'), '<!doctype html>')
  await writeFile(join(dir, '.sources'), 'not to be served')
  await writeFile(join(dir, 'assets', 'main-1a2b.js'), script)
  await writeFile(join(dir, 'assets', 'main-1a2b.js.gz'), gzipSync(script))
  const files = await readConsoleFiles(dir)
  if (files === null) throw new Error('no console')
  http = await createHttpServer({ log: pino({ level: 'silent' }), tls: null })
  serveConsole(http, files)
  await http.listen({ host: '127.0.0.1', port: 0 })
  url = `http://127.0.0.1:${(http.server.address() as AddressInfo).port}`
})
afterAll(() => http.close())

it.each(['/', '/sign-in?return=%2Forgs', '/orgs/1/devices'])(
  'serves the document at %s under a strict policy',
  async (path) => {
    const answer = await fetch(url + path)
    expect(answer.status).toBe(200)
    expect(await answer.text()).toBe('<!doctype html>')
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain("style-src 'self'")
    expect(policy).not.toContain('unsafe')
    expect(answer.headers.get('cache-control')).toBe('no-cache')
    expect(answer.headers.get('x-frame-options')).toBe('DENY')
  },
)

it('serves assets compressed, and for a year', async () => {
  const answer = await fetch(`${url}/assets/main-1a2b.js`, { headers: { 'accept-encoding': 'br, gzip' } })
  expect(answer.headers.get('content-encoding')).toBe('gzip')
  expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  expect(answer.headers.get('vary')).toBe('accept-encoding')
  expect(await answer.text()).toBe(script)
  const raw = await http.inject({ url: '/assets/main-1a2b.js', headers: { 'accept-encoding': 'gzip' } })
  expect(gunzipSync(raw.rawPayload).toString()).toBe(script)
  const plain = await http.inject({ url: '/assets/main-1a2b.js' })
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(plain.body).toBe(script)
})

it('answers that nothing has changed', async () => {
  const etag = (await fetch(url)).headers.get('etag') ?? ''
  const again = await fetch(url, { headers: { 'if-none-match': etag } })
  expect(again.status).toBe(304)
  const other = await fetch(url, { headers: { 'if-none-match': '"another"' } })
  expect(other.status).toBe(200)
})

it.each([
  '/assets/missing.js',
  '/assets/main-1a2b.js.gz',
  '/assets/..%2F.sources',
  '/.sources',
  '/index.html',
  '/devices',
])('serves nothing else: %s', async (path) => {
  const answer = await http.inject({ url: path })
  expect(answer.statusCode).toBe(404)
  expect(answer.json()).toMatchObject({ detail: 'Not found.' })
})

it('has none before it is built', async () => {
  expect(await readConsoleFiles(await temporaryDir())).toBeNull()
})
