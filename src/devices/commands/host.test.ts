import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isHost, isInterface } from './host.ts'

test.each([
  '192.0.2.1',
  '2001:db8::1',
  '::ffff:192.0.2.1',
  '::1',
  'localhost',
  'a',
  'gw-1.example.net',
  '1.example',
  '0x7f.example',
  `${'a'.repeat(63)}.example`,
])('%s is a host', (text) => expect(isHost(text)).toBe(true))

test.each([
  '',
  ' ',
  '.',
  '-f',
  '--help',
  'a..b',
  'a-.b',
  '-a.b',
  'example.net.',
  '256.1.1.1',
  '1.2.3',
  '12345',
  'fe80::1%eth0',
  'fe80::1%$(reboot)',
  'a b',
  'a;reboot',
  'a|reboot',
  'a&reboot',
  'a&&reboot',
  '`reboot`',
  '$(reboot)',
  '$HOME',
  "a'b",
  'a"b',
  'a\\b',
  'a\nreboot',
  'example.net\n',
  '\nexample.net',
  'a\u0000b',
  'a>b',
  'a*',
  '~',
  'a#b',
  'a_b',
  'münchen.example',
  'ⅰ.example',
  '１２７.0.0.1',
  'http://example.net',
  'example.net/x',
  '[::1]',
  `${'a'.repeat(64)}.example`,
  Array.from({ length: 128 }, () => 'a').join('.'),
])('%j is not a host', (text) => expect(isHost(text)).toBe(false))

test('no accepted text has a character that a shell interprets, or begins like an option', () => {
  const hostile = fc.string({ unit: fc.constantFrom(...'ab1.:-_ \'"`$\\;&|<>(){}[]*?~#%!\n\r\t\u0000/@=,'.split('')) })
  fc.assert(
    fc.property(fc.oneof(hostile, fc.string(), fc.domain(), fc.ipV4(), fc.ipV6()), (text) => {
      if (isHost(text)) expect(text).toMatch(/^[a-zA-Z0-9:][a-zA-Z0-9.:-]*$/)
      if (isInterface(text)) expect(text).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/)
    }),
    { numRuns: 2000 },
  )
})

test.each(['eth0', 'br-lan', 'up0v0', 'wlan0.100', 'Ethernet1'])('%s is an interface', (text) =>
  expect(isInterface(text)).toBe(true),
)
test.each(['', '-I', 'eth0 ', 'eth0;x', 'ge-0/0/1', 'a'.repeat(16), 'eth0\n'])('%j is not an interface', (text) =>
  expect(isInterface(text)).toBe(false),
)
