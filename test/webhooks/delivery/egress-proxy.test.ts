import { createServer as createHttpServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type Socket, connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { egressProxyOf, openTunnel } from '../../../src/platform/outbound/egress-proxy.ts'
import { createOutboundHttp } from '../../../src/platform/outbound/outbound-http.ts'
import { type Expiring, createDeadlines } from '../../../src/platform/time/deadlines.ts'
import { startNameServer } from '../../support/peers/name-server.ts'
import { selfSigned } from '../self-signed.ts'
import { listen } from './listen.ts'
import { post } from './outbound.ts'

/** Starts a proxy that connects to any requested address, with the login `user:pass`. */
async function startProxy(): Promise<{ readonly asked: string[]; readonly port: number }> {
  const asked: string[] = []
  const server = createHttpServer((_request, response) => response.writeHead(400).end())
  server.on('connect', (request, client: Socket) => {
    asked.push(request.url ?? '')
    const login = Buffer.from('user:pa ss').toString('base64')
    if (request.headers['proxy-authorization'] !== `Basic ${login}`) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      return
    }
    const [host = '', port = ''] = (request.url ?? '').split(':')
    const upstream = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    upstream.on('error', () => client.destroy())
    client.on('error', () => upstream.destroy())
  })
  return { asked, port: await listen(server) }
}

function outboundThrough(port: number, login: string, names = {}) {
  const proxy = egressProxyOf(`http://${login}127.0.0.1:${port}`)
  const outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: true, proxy, ...names })
  onTestFinished(() => outbound.close())
  return (url: string, verifyCert = true) =>
    outbound.send({ url, method: 'POST', headers: {}, body: Buffer.from('x'), verifyCert, timeoutMs: 10_000 })
}

it('calls go through the proxy, by plain HTTP and by TLS with the name of the receiver', async () => {
  const { asked, port } = await startProxy()
  const plain = await listen(createHttpServer((_request, response) => response.writeHead(201).end()))
  const tls = await listen(
    createTlsServer(await selfSigned('127.0.0.1'), (_request, response) => response.writeHead(202).end()),
  )
  const nameServer = await startNameServer()
  nameServer.answer('receiver.test', { a: ['127.0.0.1'] })
  const send = outboundThrough(port, 'user:pa%20ss@', { names: { servers: [nameServer.address] } })
  expect(await send(`http://127.0.0.1:${plain}/`)).toMatchObject({ status: 201 })
  expect(await send(`https://127.0.0.1:${tls}/`, false)).toMatchObject({ status: 202 })
  expect(await send(`https://127.0.0.1:${tls}/`)).toMatchObject({
    kind: 'failed',
    error: expect.stringMatching(/self.signed/),
  })
  expect(await send(`http://receiver.test:${plain}/`)).toMatchObject({ status: 201 })
  expect(asked).toEqual([plain, tls, tls, plain].map((target) => `127.0.0.1:${target}`))
})

it('the guard holds: the proxy is not asked for blocked addresses, nor for names', async () => {
  const { asked, port } = await startProxy()
  const nameServer = await startNameServer()
  nameServer.answer('inside.test', { a: ['10.0.0.5'] })
  const send = outboundThrough(port, 'user:pa%20ss@', { names: { servers: [nameServer.address] } })
  for (const url of ['http://10.0.0.5/', 'http://[::ffff:10.0.0.5]/', 'http://0xa9fea9fe/', 'https://inside.test/'])
    expect(await send(url)).toMatchObject({
      kind: 'failed',
      error: expect.stringMatching(/ public/),
    })
  expect(asked).toEqual([])
})

it('a proxy that refuses, or is not there, fails the call with what it said', async () => {
  const { port } = await startProxy()
  const error = 'the proxy answered 407'
  expect(await outboundThrough(port, '')('http://127.0.0.1:9/')).toEqual({ kind: 'failed', error, remoteAddress: null })
  const gone = await outboundThrough(9, '')('http://127.0.0.1:9/')
  expect(gone).toMatchObject({ kind: 'failed', error: 'the proxy could not be used: ECONNREFUSED' })
})

it('no error shows the address of the proxy, nor its name', async () => {
  const tls = await listen(createTlsServer(await selfSigned('10.0.0.1')))
  const plain = await listen(createHttpServer())
  for (const [url, error] of [
    [`https://127.0.0.1:${tls}`, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    [`https://127.0.0.1:${plain}`, expect.stringMatching(/^[A-Z_0-9]+$/)],
    ['http://proxy.invalid:3128', 'ENOTFOUND'],
  ] as const) {
    const outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: true, proxy: egressProxyOf(url) })
    onTestFinished(() => outbound.close())
    const result = await post(outbound, 'http://127.0.0.1:9/')
    if (result.kind !== 'failed') throw new Error(`The call has ended with ${result.kind}`)
    const start = 'the proxy could not be used: '
    expect(result.error.slice(0, start.length)).toBe(start)
    expect(result.error.slice(start.length)).toEqual(error)
  }
})

it('a client certificate that TLS refuses fails the call, through the proxy and without it', async () => {
  const { port } = await startProxy()
  const identity = await selfSigned('10.0.0.1', { rsaBits: 1024 })
  const tls = await listen(createTlsServer(await selfSigned('127.0.0.1')))
  for (const proxy of [egressProxyOf(`http://user:pa%20ss@127.0.0.1:${port}`), null]) {
    const outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: true, proxy })
    onTestFinished(() => outbound.close())
    const url = `https://127.0.0.1:${tls}/`
    const request = { url, method: 'POST', headers: {}, body: null, verifyCert: false, timeoutMs: 10_000 } as const
    const error = 'TLS failed: ee key too small'
    expect(await outbound.send({ ...request, identity })).toEqual({ kind: 'failed', error, remoteAddress: null })
  }
})

it('tries only the first addresses of a name with many', async () => {
  const { asked, port } = await startProxy()
  const proxy = egressProxyOf(`http://127.0.0.1:${port}`)
  const addresses = Array.from({ length: 30 }, (_, index) => `127.0.0.${index + 1}`)
  const timeLimit = { deadlines: createDeadlines(), ms: 60_000, signal: new AbortController().signal }
  await expect(openTunnel(proxy, { addresses, port: 9, timeLimit })).rejects.toThrow('the proxy answered 407')
  expect(asked).toEqual(addresses.slice(0, 8).map((address) => `${address}:9`))
})

it('waits for all addresses of a name no longer than for one, and a silent one leaves time for the next', async () => {
  const addresses = ['127.0.0.1', '127.0.0.2', '127.0.0.3']
  const server = createHttpServer().on('connect', (request, client: Socket) => {
    if (request.url === '127.0.0.3:9') client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  const proxy = egressProxyOf(`http://127.0.0.1:${await listen(server)}`)
  const deadlines = createDeadlines()
  const added: number[] = []
  const watched = {
    nowMs: () => 0,
    add(ms: number, expiring: Expiring) {
      added.push(ms)
      return deadlines.add(added.length < addresses.length ? 50 : 60_000, expiring)
    },
  }
  const timeLimit = { deadlines: watched, ms: 9000, signal: new AbortController().signal }
  await expect(openTunnel(proxy, { addresses, port: 9, timeLimit })).rejects.toThrow('the proxy answered 502')
  // The clock of this test stands still.
  expect(added).toEqual([3000, 4500, 9000])
})

const silence = async (): Promise<number> => listen(createHttpServer().on('connect', () => {}))

it.each([
  ['its time limit', () => ({ ms: 50, signal: new AbortController().signal })],
  ['its signal', () => ({ ms: 60_000, signal: AbortSignal.timeout(50) })],
])('a tunnel through a silent proxy ends by %s', async (_what, limit) => {
  const proxy = egressProxyOf(`http://127.0.0.1:${await silence()}`)
  const timeLimit = { deadlines: createDeadlines(), ...limit() }
  await expect(openTunnel(proxy, { addresses: ['127.0.0.1'], port: 1, timeLimit })).rejects.toThrow(
    'the proxy could not be used',
  )
})
