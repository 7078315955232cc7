import { once } from 'node:events'
import { type RequestListener, createServer as createHttpServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type Socket, connect, createServer } from 'node:net'
import * as undici from 'undici'
import { expect, it, onTestFinished } from 'vitest'
import { createNameResolver } from '../../../src/platform/names/name-resolver.ts'
import { createDeadlines } from '../../../src/platform/time/deadlines.ts'
import { targetOf } from '../../../src/platform/outbound/encode-request.ts'
import { createGuardedConnect } from '../../../src/platform/outbound/outbound-connect.ts'
import { createHttpConnections } from '../../../src/platform/outbound/http-connections.ts'
import { selfSigned } from '../self-signed.ts'
import { listen } from './listen.ts'
import { outboundWith, post } from './outbound.ts'
import { startTlsTap } from '../../support/tls-records.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Answers each request with the texts, one after the other, and counts connections and requests. */
async function listenAnswering(...answers: readonly string[]) {
  const seen = { connections: 0, requests: 0 }
  const port = await listen(
    createServer((socket) => {
      seen.connections += 1
      socket.on('data', () => socket.write(answers[seen.requests++ % answers.length] ?? '', 'latin1'))
    }),
  )
  return { seen, url: `http://127.0.0.1:${port}/` }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))
const empty = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'

it.each([
  ['with a body of a known length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 1],
  ['with a body in parts', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n', 1],
  ['after an interim one', `HTTP/1.1 103 Hints\r\n\r\n${empty}`, 1],
  ['that announces the end of the connection', empty.replace('OK', 'OK\r\nConnection: close'), 3],
  ['with a short time to wait', empty.replace('OK', 'OK\r\nKeep-Alive: timeout=1'), 3],
  ['that is followed by another one', `${empty}HTTP/1.1 500 Not asked for\r\nContent-Length: 0\r\n\r\n`, 3],
])('connections are used again, or not, after an answer %s', async (_what, answer, connections) => {
  const outbound = outboundWith()
  const { seen, url } = await listenAnswering(answer)
  for (let round = 0; round < 3; round += 1) {
    expect(await post(outbound, url)).toMatchObject({ kind: 'answer', status: 200 })
    await turn()
  }
  expect(seen).toEqual({ connections, requests: 3 })
})

it('connections are closed if the address that they reach is blocked, whatever was checked before', async () => {
  const closed = Promise.withResolvers<void>()
  const port = await listen(createServer((socket) => socket.on('close', () => closed.resolve())))
  const names = createNameResolver()
  onTestFinished(() => names.close())
  const checked: string[] = []
  const connectTo = createGuardedConnect(undici, {
    mayCall: (address) => checked.push(address) === 1,
    names,
    proxy: null,
    deadlines: createDeadlines(),
    signal: new AbortController().signal,
    verifyCert: true,
  })
  const error = await new Promise<Error | null>((resolve) => {
    connectTo(new URL(`http://127.0.0.1:${port}`), resolve)
  })
  expect(error?.message).toBe('Address 127.0.0.1 is not public')
  expect(checked).toEqual(['127.0.0.1', '127.0.0.1'])
  await closed.promise
})

it('connections are not used again after unrequested bytes', async () => {
  const outbound = outboundWith()
  const sockets: Socket[] = []
  const port = await listen(
    createServer((socket) => {
      sockets.push(socket)
      socket.on('data', () => socket.write(empty))
    }),
  )
  const url = `http://127.0.0.1:${port}/`
  await post(outbound, url)
  const [first] = sockets
  if (first === undefined) throw new Error('no connection')
  const closed = once(first, 'close')
  first.write('HTTP/1.1 500 Not asked for\r\nContent-Length: 0\r\n\r\n')
  await closed
  expect(await post(outbound, url)).toMatchObject({ status: 200 })
  expect(sockets).toHaveLength(2)
})

it('connections are not used again if the answer came before the whole request was sent', async () => {
  const outbound = outboundWith()
  let connections = 0
  const port = await listen(
    createServer((socket) => {
      connections += 1
      socket.once('data', () => {
        socket.pause()
        socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n')
      })
    }),
  )
  const [url, body] = [`http://127.0.0.1:${port}/`, Buffer.alloc(64 * 1024 * 1024)]
  for (let round = 0; round < 2; round += 1) {
    const result = await post(outbound, url, { body })
    expect(result).toMatchObject({ kind: 'answer', status: 413 })
    await turn()
  }
  expect(connections).toBe(2)
})

it('connections carry one request at a time, each with its own answer, by TLS as well', async () => {
  let connections = 0
  const echo: RequestListener = (request, response) => {
    request.on('data', () => {}).on('end', () => response.writeHead(200, { 'X-Path': request.url ?? '' }).end())
  }
  const [plainServer, tlsServer] = [createHttpServer(echo), createTlsServer(await selfSigned('127.0.0.1'), echo)]
  for (const server of [plainServer, tlsServer]) {
    server.keepAliveTimeout = 60_000
    server.on('connection', () => (connections += 1))
  }
  const [plain, tls] = [await listen(plainServer), await listen(tlsServer)]
  const outbound = outboundWith()
  for (const origin of [`http://127.0.0.1:${plain}`, `https://127.0.0.1:${tls}`]) {
    connections = 0
    const send = async (path: string) => {
      for (let round = 0; round < 20; round += 1)
        expect(await post(outbound, `${origin}${path}`, { verifyCert: false })).toMatchObject({
          headers: { 'x-path': path },
        })
    }
    await Promise.all(Array.from({ length: 10 }, (_, index) => send(`/${index}`)))
    expect(connections).toBeLessThanOrEqual(10)
  }
})

it('connections send a large request in TLS records that need no large buffer', async () => {
  // The message fits into 8192 bytes; authentication and type follow it.
  const maxBytes = 8192 + 256
  const body = Buffer.alloc(50_000, 'x')
  const server = createTlsServer(await selfSigned('127.0.0.1'), (request, response) => request.pipe(response))
  const tap = await startTlsTap(await listen(server), 'to_server')
  onTestFinished(() => tap.close())
  const result = await post(outboundWith(), `https://127.0.0.1:${tap.port}/`, { body, verifyCert: false })
  // An answer is read up to 16 KiB.
  expect(result).toMatchObject({ kind: 'answer', status: 200, body: body.subarray(0, 16 * 1024) })
  expect(tap.lengths.length).toBeGreaterThan(body.length / maxBytes)
  expect(Math.max(...tap.lengths)).toBeLessThan(maxBytes)
})

it('connections send no header that contains a line end', async () => {
  const { seen, url } = await listenAnswering(empty)
  const headers = { 'X-A': 'b\r\nX-B: c' }
  expect(await post(outboundWith(), url, { headers })).toEqual({
    kind: 'failed',
    error: 'invalid header X-A',
    remoteAddress: null,
  })
  expect(seen.connections).toBe(0)
})

it('connections that are closed end after their present request, also if others have ended before', async () => {
  const { seen, url } = await listenAnswering(empty.replace('OK', 'OK\r\nConnection: close'), '')
  const connections = createHttpConnections(({ hostname, port }, done) => {
    const socket: Socket = connect(Number(port), hostname, () => done(null, { socket, remoteAddress: null }))
    socket.on('close', () => (closed += 1))
  })
  let closed = 0
  const ended: string[] = []
  const send = (name: string) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const end = (): void => {
      ended.push(name)
      resolve()
    }
    const exchange = { onHead: () => {}, onBody: () => {}, onPartly: () => {}, onEnd: end, onError: end }
    const request = { target: targetOf(new URL(url)), method: 'POST' as const, headers: {}, body: null }
    return { running: connections.send(request, exchange, false), promise }
  }
  await send('first').promise
  await waitUntil('the first connection is closed', () => closed === 1)
  const second = send('second')
  await waitUntil('the second request has arrived', () => seen.requests === 2)
  const closing = connections.close().then(() => ended.push('closed'))
  for (let turns = 0; turns < 5; turns += 1) await turn()
  expect(ended).toEqual(['first'])
  second.running.cut()
  await Promise.all([second.promise, closing])
  expect(ended).toEqual(['first', 'second', 'closed'])
})
