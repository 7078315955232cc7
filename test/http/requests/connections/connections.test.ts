import { once } from 'node:events'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { issueGatewayTls, makeCa } from '../../../../src/gateway/certificates/device-ca.ts'
import { type HttpOptions, createHttpServer } from '../../../../src/http/server.ts'
import { createLog } from '../../../../src/platform/log.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const request = 'GET /ip HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

async function startServer(options: Partial<HttpOptions> = {}): Promise<number> {
  const http = await createHttpServer({ log: createLog('silent'), tls: null, ...options })
  http.get('/ip', ({ ip }) => ({ ip }))
  await http.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => http.close())
  return (http.server.address() as AddressInfo).port
}

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {}) // Closed by the server.
  onTestFinished(() => void socket.destroy())
  return socket
}

/** Returns the answer to the bytes, which are sent in these portions; empty if the connection is closed without one. */
async function ask(port: number, ...portions: (string | Buffer)[]): Promise<string> {
  const socket = open(port)
  await once(socket, 'connect')
  socket.setNoDelay()
  for (const portion of portions)
    await new Promise<void>((resolve) => void socket.write(portion, () => setImmediate(resolve)))
  return text(socket).catch(() => '')
}

/** A header of version 2 with a TCP address of IPv6. */
function headerOf(address: string): Buffer {
  const groups = address.split(':').map((group) => Number.parseInt(group, 16))
  const header = Buffer.alloc(16 + 36)
  header.write('\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x24', 'latin1')
  for (const [index, group] of groups.entries()) header.writeUInt16BE(group, 16 + 2 * index)
  return header
}

/** Sends the header in one packet with the first bytes of TLS. */
function withHeader(socket: Socket, header: string): Duplex {
  let isFirst = true
  const stream = new Duplex({
    read: () => void socket.resume(),
    write(chunk: Buffer, _encoding, done) {
      socket.write(isFirst ? Buffer.concat([Buffer.from(header), chunk]) : chunk, done)
      isFirst = false
    },
  })
  socket.on('data', (chunk: Buffer) => stream.push(chunk)).on('end', () => stream.push(null))
  return stream
}

describe('a load balancer that speaks the PROXY protocol', () => {
  const balancers = ['127.0.0.0/8']

  it.each([
    ['version 1', ['PROXY TCP4 192.0.2.7 192.0.2.1 4711 80\r\n' + request], '192.0.2.7'],
    ['version 1 in single bytes', ['PROXY TCP6 2001:db8::7 ::1 4711 80\r\n'.split(''), request].flat(), '2001:db8::7'],
    ['version 2', [Buffer.concat([headerOf('2001:db8:0:0:0:0:0:9'), Buffer.from(request)])], '2001:db8::9'],
    ['its own health check', ['PROXY UNKNOWN\r\n', request], '127.0.0.1'],
  ])('passes on the address of the client: %s', async (_what, portions, ip) => {
    expect(await ask(await startServer({ balancers }), ...portions)).toContain(JSON.stringify({ ip }))
  })

  it('passes it on under TLS as well', async () => {
    const { cert, key } = await issueGatewayTls(await makeCa(), ['localhost'])
    const port = await startServer({ balancers, tls: { cert, key } })
    const socket = withHeader(open(port), 'PROXY TCP4 192.0.2.8 192.0.2.1 4711 443\r\n')
    const secure = connectTls({ socket, rejectUnauthorized: false })
    secure.write(request)
    expect(await text(secure)).toContain('{"ip":"192.0.2.8"}')
  })

  it('is the proxy whose X-Forwarded-For counts only if its client is trusted', async () => {
    const port = await startServer({ balancers, trustedProxies: ['192.0.2.0/24'] })
    const forwarded = request.replace('Connection', 'X-Forwarded-For: 198.51.100.3\r\nConnection')
    expect(await ask(port, `PROXY TCP4 192.0.2.7 192.0.2.1 1 2\r\n${forwarded}`)).toContain('{"ip":"198.51.100.3"}')
    expect(await ask(port, `PROXY TCP4 203.0.113.7 192.0.2.1 1 2\r\n${forwarded}`)).toContain('{"ip":"203.0.113.7"}')
  })

  it('is disconnected without a header', async () => {
    expect(await ask(await startServer({ balancers }), request)).toBe('')
  })

  it('is refused unless the operator has named it', async () => {
    const port = await startServer({ balancers: ['192.0.2.0/24'] })
    expect(await ask(port, 'PROXY TCP4 192.0.2.7 192.0.2.1 4711 80\r\n' + request)).toContain('400 Bad Request')
    expect(await ask(port, request)).toContain('{"ip":"127.0.0.1"}')
  })
})

it('counts the connections of a client, where a balancer names it', async () => {
  const port = await startServer({ connectionsPerNetwork: 1, balancers: ['127.0.0.1/32'] })
  const held = open(port)
  held.write('PROXY TCP4 192.0.2.7 192.0.2.1 4711 80\r\n')
  await waitUntil(
    'no room',
    async () => (await ask(port, `PROXY TCP4 192.0.2.7 192.0.2.1 4712 80\r\n${request}`)) === '',
  )
  expect(await ask(port, `PROXY TCP4 192.0.2.9 192.0.2.1 4711 80\r\n${request}`)).toContain('192.0.2.9')
})
