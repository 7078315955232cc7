import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_PREAMBLE_BYTES, PreambleError, PreambleReader, isVouchedFor, parsePreamble } from './preamble.ts'

const key = 'AAAAC3NzaC1lZDI1NTE5AAAAIGm6cbCMV5YJJfVdfUNDOqYLQwZtzUq6YhHzXqQvSy4F'
const hmacOf = (text: string, secret: string): string => createHmac('sha1', secret).update(text).digest('hex')
const lines = [
  'MSG-ID: DEVICE-CONN-INFO',
  'MSG-VER: V1',
  'DEVICE-ID: switch-7',
  `HOST-KEY: ssh-ed25519 ${key}`,
  `HMAC: ${hmacOf(`ssh-ed25519 ${key}`, 'sesame')}`,
]
const preamble = `${lines.join('\r\n')}\r\n`

function read(text: string, size = text.length): ReturnType<PreambleReader['read']> {
  const reader = new PreambleReader()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) {
    const done = reader.read(bytes.subarray(at, at + size))
    if (done !== null) return { ...done, rest: Buffer.concat([done.rest, bytes.subarray(at + size)]) }
  }
  return null
}

describe('a preamble', () => {
  test('ends where SSH begins, wherever the stream is split', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), (size) => {
        const done = read(`${preamble}SSH-2.0-OpenSSH_9.2\r\nrest`, size)
        expect(done?.preamble).toMatchObject({ deviceId: 'switch-7', hostKey: key })
        expect(done?.rest.toString()).toBe('SSH-2.0-OpenSSH_9.2\r\nrest')
      }),
    )
  })

  test('is empty in a call home without outbound-ssh', () => {
    expect(read('SSH-2.0-OpenSSH_9.2\r\n')?.preamble).toEqual({
      deviceId: null,
      hostKey: null,
      hmac: null,
      signedText: null,
    })
  })

  test.each([
    ['two colons', preamble.replaceAll(':', '::')],
    ['no spaces', preamble.replaceAll(': ', ':')],
    ['blank lines', preamble.replaceAll('\r\n', '\r\n\r\n')],
    ['line feeds alone', preamble.replaceAll('\r\n', '\n')],
    ['an unknown line', `${preamble}X-NEW: 1\r\n`],
    ['lower case', preamble.replace('DEVICE-ID', 'device-id')],
  ])('may have %s', (_, text) => {
    const parsed = read(`${text}SSH-2.0-x\r\n`)?.preamble
    expect(parsed).toMatchObject({ deviceId: 'switch-7', hostKey: key })
    expect(parsed !== undefined && isVouchedFor(parsed, 'sesame')).toBe(true)
  })

  test('that is something else is refused', () => {
    expect(() => read('GET / HTTP/1.1\r\nHost: x\r\nSSH-2.0\r\n')).toThrow(PreambleError)
    expect(() => read('x'.repeat(MAX_PREAMBLE_BYTES + 1))).toThrow(PreambleError)
  })

  test.each([
    ['spaces within a value', `A:x${' '.repeat(MAX_PREAMBLE_BYTES - 20)}x\nSSH-2.0-x\r\n`],
    ['names without a colon', `${'A '.repeat(MAX_PREAMBLE_BYTES / 2 - 20)}\nSSH-2.0-x\r\n`],
  ])('of the largest size takes no time, though it consists of %s', (_, text) => {
    const before = process.cpuUsage()
    for (let times = 0; times < 20; times += 1) expect(() => read(text)).toThrow(PreambleError)
    // A parser in quadratic time takes 400 ms each time.
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000)
  })

  test('either parses or ends with a PreambleError, whatever was changed in it', () => {
    const change = fc.record({ at: fc.nat(preamble.length), insert: fc.string({ maxLength: 8 }) })
    fc.assert(
      fc.property(fc.array(change, { maxLength: 4 }), (changes) => {
        try {
          read(changes.reduce((text, { at, insert }) => text.slice(0, at) + insert + text.slice(at), preamble))
        } catch (error) {
          expect(error).toBeInstanceOf(PreambleError)
        }
      }),
    )
  })
})

test('only the secret vouches for a host key', () => {
  const parsed = parsePreamble(preamble)
  expect(isVouchedFor(parsed, 'sesame')).toBe(true)
  expect(isVouchedFor(parsed, 'Sesame')).toBe(false)
  expect(isVouchedFor({ ...parsed, hmac: null }, 'sesame')).toBe(false)
  expect(isVouchedFor({ ...parsed, hmac: 'ab' }, 'sesame')).toBe(false)
  expect(isVouchedFor(parsePreamble(preamble.replace(key, key.replace('m6', 'm7'))), 'sesame')).toBe(false)
})
