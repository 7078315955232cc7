import fc from 'fast-check'
import { isIP } from 'node:net'
import pino from 'pino'
import { describe, expect, it } from 'vitest'
import { cleanForwardedFor, createForwardedForCheck } from './forwarded-for.ts'

describe('cleanForwardedFor', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:4711', '203.0.113.7'],
    ['2001:db8::7', '2001:db8::7'],
    ['[2001:db8::7]:443', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    [' 198.51.100.1 ,203.0.113.7', '198.51.100.1, 203.0.113.7'],
    ['198.51.100.1, unknown, 203.0.113.7', '203.0.113.7'],
    ['203.0.113.7, unknown', ''],
    ['fe80::1%eth0', ''],
    ['999.1.1.1', ''],
    ["'; drop table site; --", ''],
    ['', ''],
  ])('%j is %j', (given, cleaned) => {
    expect(cleanForwardedFor(given)).toBe(cleaned)
  })

  it('leaves addresses alone', () => {
    const text = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string(), fc.constant('unknown'))
    fc.assert(
      fc.property(fc.array(text, { maxLength: 6 }), (texts) => {
        const cleaned = cleanForwardedFor(texts.join(','))
        for (const address of cleaned === '' ? [] : cleaned.split(', ')) expect(isIP(address)).not.toBe(0)
      }),
    )
  })
})

it('warns once of each peer that is not trusted, and of few', () => {
  const lines: { readonly peer: string }[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const check = createForwardedForCheck(log)
  const send = (remoteAddress: string, forwarded: string | undefined, ips?: string[]): string | undefined => {
    const headers = { ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }) }
    check({ raw: { headers, socket: { remoteAddress } }, ...(ips && { ips }) } as Parameters<typeof check>[0])
    return headers['x-forwarded-for']
  }
  expect(send('192.0.2.1', '203.0.113.7:80')).toBe('203.0.113.7')
  send('192.0.2.1', '203.0.113.8')
  send('192.0.2.2', undefined)
  expect(send('192.0.2.2', 'unknown')).toBe(undefined)
  send('192.0.2.3', '203.0.113.7', ['192.0.2.3', '203.0.113.7'])
  expect(lines.map(({ peer }) => peer)).toEqual(['192.0.2.1'])
  for (let i = 0; i < 100; i += 1) send(`198.51.100.${i}`, '203.0.113.7')
  expect(lines).toHaveLength(16)
})
