import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { addSite } from '../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { waitUntil } from '../support/wait-until.ts'
import { picture, postForm } from './pictures.ts'

/** Decoders yield the processors to everything else. */
vi.setConfig({ testTimeout: 120_000 })

let server: TestServer
let path: string
beforeAll(async () => {
  server = await startTestServer()
  const { body } = await server.call('POST', `/sites/${await addSite(server)}/maps`, { body: {} })
  path = `/sites/${body.site_id}/maps/${body.id}`
})
afterAll(() => server.close())

const incoming = () => readdir(join(server.dataDir, 'images', 'incoming'))

it('an interrupted upload leaves no file', async () => {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  const part = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n'
  const head = [
    `POST /api/v1${path}/image HTTP/1.1`,
    'host: test',
    `authorization: Token ${server.org.token}`,
    'content-type: multipart/form-data; boundary=x',
    'content-length: 500000',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${part}`)
  // A PNG with a long chunk of pixels.
  socket.write(Buffer.concat([Buffer.from('89504e470d0a1a0a00061a8049444154', 'hex'), Buffer.alloc(200_000)]))
  await waitUntil('the file', async () => (await incoming()).length === 1)
  socket.destroy()
  await once(socket, 'close')
  await waitUntil('no file', async () => (await incoming()).length === 0)
})

it('an image is served as an image only, and only to GET and HEAD', async () => {
  const file = { bytes: await picture(64, 48), type: 'image/png' }
  expect((await postForm(server, `${path}/image`, { file })).status).toBe(200)
  const { url } = (await server.call('GET', path)).body
  const expected = {
    'content-type': 'image/png',
    'content-length': String(file.bytes.length),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'cache-control': expect.stringMatching(/^private, max-age=\d+, immutable$/),
  }
  for (const method of ['GET', 'HEAD']) {
    const answer = await fetch(url, { method })
    expect(answer.status).toBe(200)
    expect(Object.fromEntries(answer.headers)).toMatchObject(expected)
    expect((await answer.arrayBuffer()).byteLength).toBe(method === 'HEAD' ? 0 : file.bytes.length)
  }
  for (const method of ['POST', 'PUT', 'DELETE']) expect((await fetch(url, { method })).status).toBe(405)
})

it('a changed address does not work', async () => {
  const { url } = (await server.call('GET', path)).body
  const { origin, pathname } = new URL(url)
  const [, , name, expires, signature] = pathname.split('/')
  const changed = [
    [name, String(Number(expires) + 3600), signature],
    [name, `${expires}.0`, signature],
    [name, ` ${expires}`, signature],
    ['..%2Fincoming', expires, signature],
    [`..%2F${name}`, expires, signature],
    [name?.replace('.png', '.jpg'), expires, signature],
    [name, expires, ''],
    [name, expires, signature?.toUpperCase()],
  ]
  for (const parts of changed) expect([400, 404]).toContain((await fetch(`${origin}/images/${parts.join('/')}`)).status)
})
