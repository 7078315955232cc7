import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import type { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createHttpServer } from '../../../../src/http/server.ts'
import { acceptStreams } from '../../../../src/http/bodies/streams.ts'
import { createLog } from '../../../../src/platform/log.ts'

const BODY_MS = 200

async function startServer(bodyMs = BODY_MS): Promise<number> {
  const http = await createHttpServer({ log: createLog('silent'), tls: null, bodyMs })
  http.post('/echo', ({ body }) => ({ body }))
  http.get('/slow', async () => delay(2 * BODY_MS, { slow: true }))
  http.post('/refused', { onRequest: async (_request, reply) => reply.code(401).send({}) }, () => ({}))
  await http.register(async (uploads) => {
    acceptStreams(uploads)
    uploads.post('/upload', async ({ body }) => ({ bytes: (await buffer(body as Readable)).length }))
  })
  await http.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => http.close())
  return (http.server.address() as AddressInfo).port
}

const head = (path: string, length: number, type = 'application/json'): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`

it.each([
  ['application/json', '/echo', 'POST'],
  ['Application/JSON; charset=utf-8', '/echo', 'POST'],
  ['application/json', '/slow', 'GET'],
  ['text/csv', '/echo', 'POST'],
  ['application/octet-stream', '/refused', 'POST'],
  ['application/x-www-form-urlencoded', '/unserved', 'POST'],
])(
  'closes the connection of a client that never completes its body of %s to %s, even if it keeps sending',
  async (type, path, method) => {
    const socket = connect(await startServer(), '127.0.0.1')
    socket.on('error', () => {}) // The client writes to a closed connection.
    socket.write(head(path, 1000, type).replace('POST', method))
    const trickle = setInterval(() => socket.write(' '), 20)
    onTestFinished(() => clearInterval(trickle))
    expect(await text(socket).catch(() => '')).not.toContain('200 OK')
    expect(socket.bytesWritten).toBeLessThan(1000)
  },
)

it('lets an upload take longer', async () => {
  const socket = connect(await startServer(), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(head('/upload', 2, 'application/octet-stream') + 'a')
  await delay(2 * BODY_MS)
  socket.write('b')
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toContain('{"bytes":2}')
})

it('serves a slow client within that time', async () => {
  const socket = connect(await startServer(20_000), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(head('/echo', 7))
  await once(socket, 'connect')
  socket.write('{"a"')
  setImmediate(() => socket.write(':1}'))
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toContain('{"body":{"a":1}}')
})

it('allows an operation more time if the type is JSON but there is no body', async () => {
  const socket = connect(await startServer(), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write('GET /slow HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n')
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toContain('{"slow":true}')
})
