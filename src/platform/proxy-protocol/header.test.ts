import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseProxyHeader } from './header.ts'

const parse = (text: string) => parseProxyHeader(Buffer.from(text, 'latin1'))
const signature = '\r\n\r\n\0\r\nQUIT\n'
const port = fc.integer({ min: 0, max: 65_535 })

describe('version 1', () => {
  it('gives the address of the client and leaves what follows', () => {
    const header = fc.oneof(
      fc.tuple(fc.constant('TCP4'), fc.ipV4(), fc.ipV4(), port, port),
      fc.tuple(fc.constant('TCP6'), fc.ipV6(), fc.ipV6(), port, port),
    )
    fc.assert(
      fc.property(header, fc.string(), (parts, rest) => {
        const line = `PROXY ${parts.join(' ')}\r\n`
        const read = parse(line + rest)
        expect(read).toMatchObject({ kind: 'header', length: line.length })
        expect(isIP(read.kind === 'header' ? (read.address ?? '') : '')).toBeGreaterThan(0)
        for (let end = 0; end < line.length; end += 1) expect(parse(line.slice(0, end)).kind).toBe('incomplete')
      }),
    )
  })

  it.each([
    'PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n',
    'PROXY  TCP4 1.2.3.4 1.2.3.4 1 2\r\n',
    'PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n',
    'PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n',
    'PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n',
    'PROXY TCP4 1.2.3.004 1.2.3.4 1 2\r\n',
    'PROXY TCP4 ::1 ::1 1 2\r\n',
    'PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n',
    'PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n',
    'PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n',
    'PROXY tcp4 1.2.3.4 1.2.3.4 1 2\r\n',
    'proxy TCP4 1.2.3.4 1.2.3.4 1 2\r\n',
    'GET / HTTP/1.1\r\n',
    `PROXY UNKNOWN ${'x'.repeat(107)}\r\n`,
  ])('refuses %j', (line) => {
    expect(parse(line)).toEqual({ kind: 'invalid' })
  })

  it('names no client if the proxy knows none', () => {
    expect(parse('PROXY UNKNOWN ffff:f...f:ffff 1 2\r\nGET')).toEqual({ kind: 'header', address: null, length: 35 })
  })

  it('writes an address of IPv4 within IPv6 as IPv4', () => {
    expect(parse('PROXY TCP6 ::ffff:192.0.2.7 ::1 1 2\r\n')).toMatchObject({ address: '192.0.2.7' })
  })
})

describe('version 2', () => {
  const of = (command: number, family: number, body: Buffer): Buffer =>
    Buffer.concat([
      Buffer.from(signature, 'latin1'),
      Buffer.from([command, family, body.length >> 8, body.length & 255]),
      body,
    ])

  it('gives the address of the client, whatever fields follow it', () => {
    const fields = fc.uint8Array({ maxLength: 200 })
    fc.assert(
      fc.property(
        fc.constantFrom(4, 16),
        fc.uint8Array({ minLength: 36, maxLength: 36 }),
        fields,
        (size, bytes, more) => {
          const body = Buffer.concat([bytes.subarray(0, 2 * size + 4), more])
          const header = of(0x21, size === 4 ? 0x11 : 0x21, body)
          const read = parseProxyHeader(Buffer.concat([header, Buffer.from('GET')]))
          expect(read).toMatchObject({ kind: 'header', length: header.length })
          expect(isIP(read.kind === 'header' ? (read.address ?? '') : '')).toBeGreaterThan(0)
          for (let end = 0; end < header.length; end += 1)
            expect(parseProxyHeader(header.subarray(0, end)).kind).toBe('incomplete')
        },
      ),
      { numRuns: 50 },
    )
  })

  it('reads addresses as sockets write them', () => {
    const v4 = Buffer.from([192, 0, 2, 7, 192, 0, 2, 1, 0, 1, 0, 2])
    expect(parseProxyHeader(of(0x21, 0x11, v4))).toMatchObject({ address: '192.0.2.7' })
    const v6 = Buffer.alloc(36)
    v6.writeUInt32BE(0x20010db8)
    v6[15] = 9
    expect(parseProxyHeader(of(0x21, 0x21, v6))).toMatchObject({ address: '2001:db8::9' })
  })

  it('names no client if the proxy speaks for itself or has no address', () => {
    expect(parseProxyHeader(of(0x20, 0x11, Buffer.alloc(12)))).toMatchObject({ kind: 'header', address: null })
    expect(parseProxyHeader(of(0x21, 0x00, Buffer.alloc(0)))).toMatchObject({ kind: 'header', address: null })
  })

  it.each([
    ['another version', of(0x11, 0x11, Buffer.alloc(12))],
    ['an unknown command', of(0x22, 0x11, Buffer.alloc(12))],
    ['datagrams', of(0x21, 0x12, Buffer.alloc(12))],
    ['a short address', of(0x21, 0x21, Buffer.alloc(12))],
    ['more than it may have', of(0x21, 0x11, Buffer.alloc(3000)).subarray(0, 16)],
  ])('refuses %s', (_what, header) => {
    expect(parseProxyHeader(header)).toEqual({ kind: 'invalid' })
  })
})

it('asks for no more than a header can have, and never fails', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 2100, maxLength: 2100 }),
      fc.constantFrom('', 'PROXY ', signature),
      (bytes, start) => {
        expect(parseProxyHeader(Buffer.concat([Buffer.from(start, 'latin1'), bytes])).kind).not.toBe('incomplete')
      },
    ),
  )
})
