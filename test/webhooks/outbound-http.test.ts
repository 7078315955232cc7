import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, type Server, type Socket, createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type OutboundHttp, type OutboundOptions, createOutboundHttp } from '../../src/platform/outbound-http.ts'
import { selfSigned } from './self-signed.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

function outboundWith(options: Partial<OutboundOptions> = {}): OutboundHttp {
  const outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: true, ...options })
  closers.push(() => outbound.close())
  return outbound
}

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return (server.address() as AddressInfo).port
}

/** A server that does with its socket what `talk` says once the first bytes have come. */
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

const post = (outbound: OutboundHttp, url: string, timeoutMs = 5000) =>
  outbound.send({ url, method: 'POST', headers: {}, body: Buffer.from('{}'), verifyCert: true, timeoutMs })

function dripping(socket: Socket, text: string): void {
  let sent = 0
  const timer = setInterval(() => socket.write(text[sent++ % text.length] ?? ''), 10)
  socket.on('close', () => clearInterval(timer))
}

describe('what a receiver may do', () => {
  it('answers are read, with status, headers and body', async () => {
    const { url } = await rawServer((socket) =>
      socket.end('HTTP/1.1 201 Created\r\nX-A: b\r\nContent-Length: 2\r\n\r\nok'),
    )
    const result = await post(outboundWith(), url)
    expect(result).toMatchObject({ kind: 'answer', status: 201, headers: { 'x-a': 'b' }, body: Buffer.from('ok') })
  })

  it('headers one byte at a time are cut off in time', async () => {
    const { url } = await rawServer((socket) => dripping(socket, 'HTTP/1.1 200 OK\r\nX-A: '.padEnd(4000, 'a')))
    const startedMs = performance.now()
    expect(await post(outboundWith(), url, 300)).toEqual({ kind: 'failed', error: 'no answer within 300 ms' })
    expect(performance.now() - startedMs).toBeLessThan(2000)
  })

  it('a dripping body is cut off in time, and its status counts', async () => {
    const { url } = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
      dripping(socket, 'x')
    })
    const startedMs = performance.now()
    expect(await post(outboundWith(), url, 300)).toMatchObject({ kind: 'answer', status: 200 })
    expect(performance.now() - startedMs).toBeLessThan(2000)
  })

  it('a receiver that never answers, or hangs up, has failed', async () => {
    const silent = await rawServer(() => {})
    expect(await post(outboundWith(), silent.url, 200)).toEqual({ kind: 'failed', error: 'no answer within 200 ms' })
    const rude = await rawServer((socket) => socket.resetAndDestroy())
    expect(await post(outboundWith(), rude.url)).toMatchObject({ kind: 'failed' })
    const babbling = await rawServer((socket) => socket.end('nonsense\r\n\r\n'))
    expect(await post(outboundWith(), babbling.url)).toMatchObject({ kind: 'failed' })
  })

  it('a gibibyte of body is cut off after 16 KiB and the connection dropped', async () => {
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

  it('a gzip bomb stays packed', async () => {
    const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024))
    const { url } = await rawServer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`)
      socket.end(bomb)
    })
    const result = await post(outboundWith(), url)
    expect(result).toMatchObject({ kind: 'answer', body: bomb.subarray(0, 16 * 1024) })
  })

  it('redirects are answers, never followed', async () => {
    const target = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await rawServer((socket) =>
        socket.end(`HTTP/1.1 ${status} Moved\r\nLocation: ${target.url}\r\nContent-Length: 0\r\n\r\n`),
      )
      expect(await post(outboundWith(), url)).toMatchObject({ kind: 'answer', status })
    }
    expect(target.connections()).toBe(0)
  })

  it('the caller can give up', async () => {
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

  it('connections are used again, and dropped soon when idle', async () => {
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
    // A request may come before its forerunner's connection is seen to be free.
    expect(connections).toBeLessThan(5)
    await closed
  })
})

describe('addresses that may not be called', () => {
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
  ])('%s is not dialled', async (origin) => {
    const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    const outbound = outboundWith(strict)
    const url = `${origin}:${new URL(server.url).port}/`
    expect(await post(outbound, url)).toMatchObject({
      kind: 'failed',
      error: expect.stringMatching(/may not be called/),
    })
    expect(await outbound.findBlockedAddress(new URL(url))).not.toBeNull()
    expect(server.connections()).toBe(0)
  })

  it('one blocked address among public ones is enough, whoever answers what when', async () => {
    const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
    let answers = [{ address: '93.184.215.14', family: 4 }]
    const outbound = outboundWith({ ...strict, lookup: (_host, done) => done(null, answers) })
    const url = `http://rebinding.test:${new URL(server.url).port}/`
    expect(await outbound.findBlockedAddress(new URL(url))).toBeNull()
    answers = [...answers, { address: '127.0.0.1', family: 4 }]
    expect(await outbound.findBlockedAddress(new URL(url))).toBe('127.0.0.1')
    expect(await post(outbound, url)).toEqual({ kind: 'failed', error: 'address 127.0.0.1 may not be called' })
    expect(server.connections()).toBe(0)
  })

  it('a name is dialled at the addresses that were checked', async () => {
    const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
    const outbound = outboundWith({ lookup: (_host, done) => done(null, [{ address: '127.0.0.1', family: 4 }]) })
    const url = `http://receiver.test:${new URL(server.url).port}/`
    expect(await post(outbound, url)).toMatchObject({ kind: 'answer', status: 200 })
  })

  it('a name that can not be resolved may be kept but not called', async () => {
    const error = Object.assign(new Error('getaddrinfo ENOTFOUND nowhere.test'), { code: 'ENOTFOUND' })
    const outbound = outboundWith({ lookup: (_host, done) => done(error, []) })
    expect(await outbound.findBlockedAddress(new URL('http://nowhere.test/'))).toBeNull()
    expect(await post(outbound, 'http://nowhere.test/')).toMatchObject({ kind: 'failed', error: error.message })
    const empty = outboundWith({ lookup: (_host, done) => done(null, []) })
    expect(await post(empty, 'http://nowhere.test/')).toMatchObject({ kind: 'failed' })
  })

  it('a resolver that hangs keeps nobody who makes a webhook waiting', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const checked = outboundWith({ lookup: () => {} }).findBlockedAddress(new URL('http://hanging.test/'))
    vi.advanceTimersByTime(3000)
    expect(await checked).toBeNull()
  })

  it('a resolver that hangs costs no more than the time-out', async () => {
    const outbound = outboundWith({ lookup: () => {} })
    const startedMs = performance.now()
    expect(await post(outbound, 'http://hanging.test/', 200)).toEqual({
      kind: 'failed',
      error: 'no answer within 200 ms',
    })
    expect(await post(outbound, 'https://hanging.test/', 200)).toMatchObject({ kind: 'failed' })
    await outbound.close()
    expect(performance.now() - startedMs).toBeLessThan(2000)
  })
})

describe('certificates', () => {
  it('are checked unless the webhook says not to', async () => {
    const { key, cert } = await selfSigned('127.0.0.1')
    const server = createTlsServer({ key, cert }, (_request, response) => response.end('hello'))
    const url = `https://127.0.0.1:${await listen(server)}/`
    const outbound = outboundWith()
    const body = Buffer.from('{}')
    const send = (verifyCert: boolean) =>
      outbound.send({ url, method: 'POST', headers: {}, body, verifyCert, timeoutMs: 5000 })
    // Unverified first: what it leaves behind must not let the verifying one through.
    expect(await send(false)).toMatchObject({ kind: 'answer', status: 200 })
    expect(await send(true)).toMatchObject({ kind: 'failed', error: expect.stringMatching(/self.signed/) })
    expect(await send(false)).toMatchObject({ kind: 'answer', status: 200 })
  })
})
