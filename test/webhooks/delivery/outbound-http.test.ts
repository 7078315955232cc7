import { createServer as createHttpServer } from 'node:http'
import { type Socket, createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { startNameServer } from '../../support/peers/name-server.ts'
import { listen } from './listen.ts'
import { outboundWith, post } from './outbound.ts'

/** Starts a server that passes its socket to `talk` once the first bytes have arrived. */
async function rawServer(talk: (socket: Socket) => void): Promise<{ url: string; connections: () => number }> {
  let count = 0
  const port = await listen(
    createServer((socket) => {
      count += 1
      socket.once('data', () => talk(socket))
    }),
  )
  return { url: `http://127.0.0.1:${port}/`, connections: () => count }
}

function dripping(socket: Socket, text: string): void {
  let sent = 0
  const timer = setInterval(() => socket.write(text[sent++ % text.length] ?? ''), 10)
  socket.on('close', () => clearInterval(timer))
}

it('gives a request that is sent after the process was stopped time for its answer', async () => {
  const answering = () => rawServer((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'))
  const [former, { url }] = [await answering(), await answering()]
  const outbound = outboundWith()
  await post(outbound, former.url)
  const result = post(outbound, url, { timeoutMs: 1500 })
  // The connection is open by now, but the process learns it afterwards, when the time of the request has passed.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000)
  expect(await result).toMatchObject({ kind: 'answer', status: 204 })
})

describe('responses of receivers', () => {
  it('are read with status, headers and body', async () => {
    const { url } = await rawServer((socket) =>
      socket.end('HTTP/1.1 201 Created\r\nX-A: b\r\nContent-Length: 2\r\n\r\nok'),
    )
    const result = await post(outboundWith(), url)
    expect(result).toMatchObject({
      kind: 'answer',
      status: 201,
      headers: { 'x-a': 'b' },
      body: Buffer.from('ok'),
      remoteAddress: '127.0.0.1',
    })
  })

  it('are cut off in time if the headers arrive one byte at a time', async () => {
    const { url } = await rawServer((socket) => dripping(socket, 'HTTP/1.1 200 OK\r\nX-A: '.padEnd(4000, 'a')))
    const startedMs = performance.now()
    expect(await post(outboundWith(), url, { timeoutMs: 300 })).toEqual({
      kind: 'failed',
      error: 'no answer within 300 ms',
      remoteAddress: '127.0.0.1',
    })
    expect(performance.now() - startedMs).toBeLessThan(10_000)
  })

  it.each([300, 15_000])('are cut off in time if the body drips, and their status counts: %d ms', async (timeoutMs) => {
    const { url } = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
      dripping(socket, 'x')
    })
    const startedMs = performance.now()
    expect(await post(outboundWith(), url, { timeoutMs })).toMatchObject({ kind: 'answer', status: 200 })
    expect(performance.now() - startedMs).toBeLessThan(10_000)
  })

  it('count as failed if the receiver never answers or hangs up', async () => {
    const silent = await rawServer(() => {})
    expect(await post(outboundWith(), silent.url, { timeoutMs: 200 })).toEqual({
      kind: 'failed',
      error: 'no answer within 200 ms',
      remoteAddress: '127.0.0.1',
    })
    const rude = await rawServer((socket) => socket.resetAndDestroy())
    expect(await post(outboundWith(), rude.url)).toMatchObject({
      kind: 'failed',
      error: 'the receiver reset the connection',
    })
    const babbling = await rawServer((socket) => socket.end('nonsense\r\n\r\n'))
    expect(await post(outboundWith(), babbling.url)).toMatchObject({ kind: 'failed' })
  })

  it('count as failed if there is no way to the receiver, and the error has no address of this machine', async () => {
    const outbound = outboundWith({ allowCidrs: ['224.0.0.0/4'] })
    const result = await post(outbound, 'http://224.0.0.1/')
    expect(result).toMatchObject({ kind: 'failed', error: expect.stringMatching(/^connect E[A-Z]+ 224\.0\.0\.1:80$/) })
  })

  it('count as failed if the receiver accepts a large message and never reads it', async () => {
    const sockets: Socket[] = []
    const port = await listen(createServer({ pauseOnConnect: true }, (socket) => void sockets.push(socket)))
    const answer = await outboundWith().send({
      url: `http://127.0.0.1:${port}/`,
      method: 'POST',
      headers: {},
      body: Buffer.alloc(64 * 1024 * 1024),
      verifyCert: true,
      timeoutMs: 200,
    })
    expect(answer).toEqual({ kind: 'failed', error: 'no answer within 200 ms', remoteAddress: '127.0.0.1' })
    const [socket] = sockets
    if (socket === undefined || sockets.length > 1) throw new Error(`${sockets.length} connections`)
    // The receiver now reads what has arrived, and finds the end of the connection.
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.resume()
    await closed
    expect(socket.bytesRead).toBeLessThan(64 * 1024 * 1024)
  })

  it('are cut off after 16 KiB of a gibibyte of body, and the connection is dropped', async () => {
    let written = 0
    const closed = Promise.withResolvers<void>()
    const { url } = await rawServer((socket) => {
      socket.on('close', () => closed.resolve())
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 30}\r\n\r\n`)
      const chunk = Buffer.alloc(64 * 1024, 'x')
      const pump = (): void => {
        while (!socket.destroyed && socket.write(chunk)) written += chunk.length
      }
      socket.on('drain', pump)
      pump()
    })
    const result = await post(outboundWith(), url)
    expect(result).toMatchObject({ kind: 'answer', status: 200, body: Buffer.alloc(16 * 1024, 'x') })
    await closed.promise
    expect(written).toBeLessThan(64 * 1024 * 1024)
  })

  it('are not inflated if they are a gzip bomb', async () => {
    const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024))
    const { url } = await rawServer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`)
      socket.end(bomb)
    })
    const result = await post(outboundWith(), url)
    expect(result).toMatchObject({ kind: 'answer', body: bomb.subarray(0, 16 * 1024) })
  })

  it('are final if they redirect: redirects are never followed', async () => {
    const target = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await rawServer((socket) =>
        socket.end(`HTTP/1.1 ${status} Moved\r\nLocation: ${target.url}\r\nContent-Length: 0\r\n\r\n`),
      )
      expect(await post(outboundWith(), url)).toMatchObject({ kind: 'answer', status })
    }
    expect(target.connections()).toBe(0)
  })

  it('can be cancelled by the caller', async () => {
    const { url } = await rawServer(() => {})
    const outbound = outboundWith()
    const cutting = new AbortController()
    const { signal } = cutting
    const running = outbound.send({
      url,
      method: 'POST',
      headers: {},
      body: null,
      verifyCert: true,
      timeoutMs: 5000,
      signal,
    })
    cutting.abort()
    expect(await running).toEqual({ kind: 'aborted' })
  })

  it('leave connections open for reuse, which are closed soon when idle', async () => {
    let connections = 0
    const server = createHttpServer((_request, response) => response.end())
    server.keepAliveTimeout = 60_000
    server.on('connection', () => (connections += 1))
    const closed = new Promise<void>((resolve) => {
      server.on('connection', (socket) => socket.on('close', () => resolve()))
    })
    const url = `http://127.0.0.1:${await listen(server)}/`
    const outbound = outboundWith()
    for (let round = 0; round < 20; round += 1) await post(outbound, url)
    // A request may arrive before the connection of the previous one is known to be free.
    expect(connections).toBeLessThan(5)
    await closed
  })
})

describe('connections that are reused', () => {
  /** Answers the first request of each connection, and hangs up at the second. */
  async function listenForOne() {
    const seen = { connections: 0, requests: 0 }
    const port = await listen(
      createServer((socket) => {
        seen.connections += 1
        let ofSocket = 0
        socket.on('data', () => {
          seen.requests += 1
          ofSocket += 1
          if (ofSocket === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
          else socket.end()
        })
      }),
    )
    return { seen, url: `http://127.0.0.1:${port}/` }
  }

  it.each([
    { mayArriveTwice: true, last: { kind: 'answer', status: 200 }, seen: { connections: 2, requests: 3 } },
    { mayArriveTwice: false, last: { kind: 'failed' }, seen: { connections: 1, requests: 2 } },
  ])('repeat a lost request once on another connection if it may arrive twice: $mayArriveTwice', async (wanted) => {
    const outbound = outboundWith()
    const { seen, url } = await listenForOne()
    const send = () => post(outbound, url, { mayArriveTwice: wanted.mayArriveTwice })
    expect(await send()).toMatchObject({ kind: 'answer', status: 200 })
    // Lets the connection become free.
    await new Promise((resolve) => setImmediate(resolve))
    expect(await send()).toMatchObject(wanted.last)
    expect(seen).toEqual(wanted.seen)
  })

  it('do not repeat a request on a new connection, whose receiver may have acted on it', async () => {
    const { url, connections } = await rawServer((socket) => socket.end())
    expect(await post(outboundWith(), url)).toMatchObject({ kind: 'failed' })
    expect(connections()).toBe(1)
  })
})

describe('blocked addresses', () => {
  const strict = { allowLoopback: false }
  it.each([
    'http://127.0.0.1',
    'http://127.1',
    'http://0x7f000001',
    'http://2130706433',
    'http://0',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://[::ffff:7f00:1]',
    'http://localhost',
    'http://LOCALHOST',
  ])('%s is not called', async (origin) => {
    const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    const outbound = outboundWith(strict)
    const url = `${origin}:${new URL(server.url).port}/`
    expect(await post(outbound, url)).toMatchObject({
      kind: 'failed',
      error: expect.stringMatching(/is not public|has no public address/),
    })
    expect(await outbound.findRefusal(new URL(url), 'org')).not.toBeNull()
    expect(server.connections()).toBe(0)
  })

  it('one blocked address among public ones suffices, whichever answer contains it', async () => {
    const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
    let nowMs = 0
    const nameServer = await startNameServer()
    const names = { servers: [nameServer.address], nowMs: () => nowMs }
    const outbound = outboundWith({ ...strict, names })
    const url = `http://rebinding.test:${new URL(server.url).port}/`
    nameServer.answer('rebinding.test', { a: ['93.184.215.14'], ttlS: 0 })
    expect(await outbound.findRefusal(new URL(url), 'org')).toBeNull()
    nameServer.answer('rebinding.test', { a: ['93.184.215.14', '127.0.0.1'], ttlS: 0 })
    nowMs += 1000
    const refusal = 'The name rebinding.test has no public address'
    expect(await outbound.findRefusal(new URL(url), 'org')).toBe(refusal)
    expect(await post(outbound, url)).toEqual({ kind: 'failed', error: refusal, remoteAddress: null })
    nameServer.answer('rebinding.test', { a: ['93.184.215.14'], aaaa: ['::1'], ttlS: 0 })
    nowMs += 1000
    expect(await post(outbound, url)).toEqual({ kind: 'failed', error: refusal, remoteAddress: null })
    expect(server.connections()).toBe(0)
  })

  it('a request connects only to the addresses that were checked', async () => {
    const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
    const nameServer = await startNameServer()
    nameServer.answer('receiver.test', { a: ['127.0.0.1'] })
    const outbound = outboundWith({ names: { servers: [nameServer.address] } })
    const url = `http://receiver.test:${new URL(server.url).port}/`
    expect(await post(outbound, url)).toMatchObject({ kind: 'answer', status: 200 })
  })

  it('a request connects last to the addresses of its name that failed before', async () => {
    const closing = 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
    const server = await rawServer((socket) => socket.end(closing))
    const port = Number(new URL(server.url).port)
    const nameServer = await startNameServer()
    nameServer.answer('receiver.test', { a: ['127.0.0.2', '127.0.0.1'] })
    const outbound = outboundWith({ names: { servers: [nameServer.address] } })
    const url = `http://receiver.test:${port}/`
    expect(await post(outbound, url)).toMatchObject({ status: 200, remoteAddress: '127.0.0.1' })
    await listen(createServer(), { host: '127.0.0.2', port })
    expect(await post(outbound, url)).toMatchObject({ status: 200, remoteAddress: '127.0.0.1' })
  })

  it("a URL whose name can't be resolved may be stored but not called, in the words of a private address", async () => {
    const nameServer = await startNameServer()
    nameServer.answer('empty.test', {})
    const outbound = outboundWith({ names: { servers: [nameServer.address] } })
    for (const name of ['nowhere.test', 'empty.test']) {
      expect(await outbound.findRefusal(new URL(`http://${name}/`), 'org')).toBeNull()
      const error = `The name ${name} has no public address`
      expect(await post(outbound, `http://${name}/`)).toEqual({ kind: 'failed', error, remoteAddress: null })
    }
  })

  it('names with a silent name server delay no request to another name', async () => {
    const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
    const nameServer = await startNameServer()
    nameServer.answer('fine.test', { a: ['127.0.0.1'] })
    const outbound = outboundWith({ names: { servers: [nameServer.address] } })
    const silent = Array.from({ length: 32 }, (_, index) => `silent${index}.test`)
    for (const name of silent) nameServer.answer(name, 'silent')
    let ended = 0
    const hanging = silent.map((name) => post(outbound, `http://${name}/`).finally(() => (ended += 1)))
    expect(await post(outbound, `http://fine.test:${new URL(server.url).port}/`)).toMatchObject({ status: 200 })
    expect(ended).toBe(0)
    for (const result of await Promise.all(hanging))
      expect(result).toMatchObject({ kind: 'failed', error: expect.stringMatching(/no name server answered in time/) })
  })

  it('a silent name server costs no more than the time-out', async () => {
    const nameServer = await startNameServer()
    nameServer.answer('hanging.test', 'silent')
    const outbound = outboundWith({ names: { servers: [nameServer.address] } })
    const startedMs = performance.now()
    expect(await post(outbound, 'http://hanging.test/', { timeoutMs: 200 })).toEqual({
      kind: 'failed',
      error: 'no answer within 200 ms',
      remoteAddress: null,
    })
    expect(await post(outbound, 'https://hanging.test/', { timeoutMs: 200 })).toMatchObject({ kind: 'failed' })
    // This is less than two look-ups, each of which ends after 2 s.
    expect(performance.now() - startedMs).toBeLessThan(3000)
    // It does not delay the creation of a webhook either.
    expect(await outbound.findRefusal(new URL('http://hanging.test/'), 'org')).toBeNull()
  })
})
