import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createHttpServer } from '../../src/http/server.ts'
import { createLog } from '../../src/platform/log.ts'

const JSON_BODY_MS = 200

async function startServer(jsonBodyMs = JSON_BODY_MS): Promise<number> {
  const http = await createHttpServer({ log: createLog('silent'), tls: null, jsonBodyMs })
  http.post('/echo', ({ body }) => ({ body }))
  http.get('/slow', async () => delay(2 * JSON_BODY_MS, { slow: true }))
  await http.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => http.close())
  return (http.server.address() as AddressInfo).port
}

const head = (path: string, length: number, type = 'application/json'): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`

it.each(['application/json', 'Application/JSON; charset=utf-8'])(
  'closes the connection of a client that never completes its body of %s, even if it keeps sending',
  async (type) => {
    const socket = connect(await startServer(), '127.0.0.1')
    socket.on('error', () => {}) // The client writes to a closed connection.
    socket.write(head('/echo', 1000, type))
    const trickle = setInterval(() => socket.write(' '), 20)
    onTestFinished(() => clearInterval(trickle))
    expect(await text(socket).catch(() => '')).not.toContain('200 OK')
    expect(socket.bytesWritten).toBeLessThan(1000)
  },
)

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
