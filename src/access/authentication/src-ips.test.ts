import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAddressCheck, isAddressRange } from './src-ips.ts'

describe('isAddressRange', () => {
  it.each(['10.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', '2001:db8::/32', '::/0', '::ffff:10.0.0.1'])(
    'accepts %s',
    (text) => {
      expect(isAddressRange(text)).toBe(true)
    },
  )

  it.each([
    '',
    'host',
    '10.0.0',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    'fe80::1%eth0',
    ' 10.0.0.1',
    '010.0.0.1',
  ])('refuses %j', (text) => {
    expect(isAddressRange(text)).toBe(false)
  })
})

describe('createAddressCheck', () => {
  const isWithin = createAddressCheck()

  it.each<[readonly string[], string, boolean]>([
    [['10.0.0.1'], '10.0.0.1', true],
    [['10.0.0.1'], '10.0.0.2', false],
    [['10.0.0.0/8', '192.0.2.7'], '10.255.0.1', true],
    [['10.0.0.0/8', '192.0.2.7'], '192.0.2.7', true],
    [['10.0.0.0/8', '192.0.2.7'], '192.0.2.8', false],
    [['2001:db8::/32'], '2001:db8::1', true],
    [['2001:db8::/32'], '2001:db9::1', false],
    [['fe80::/10'], 'fe80::1%eth0', true],
    [['10.0.0.0/8'], '::1', false],
    [['10.0.0.0/8'], '::ffff:a00:1', true],
    [['::ffff:10.0.0.0/104'], '10.0.0.1', true],
    [['0.0.0.0/0'], '2001:db8::1', false],
    [['10.0.0.0/8', '2001:db8::/32'], 'unknown', false],
    [['10.0.0.0/8'], '10.0.0.1:80', false],
  ])('%j contains %s: %s', (ranges, address, within) => {
    expect(isWithin(ranges, address)).toBe(within)
  })

  it('recognizes an IPv4 address that arrived over a socket for both families', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(isWithin([address], `::ffff:${address}`)).toBe(true)
        expect(isWithin([`${address}/24`], `::ffff:${address}`)).toBe(true)
      }),
    )
  })

  it('keeps lists separate', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV4(), (one, other) => {
        expect(isWithin([one], other)).toBe(one === other)
      }),
    )
  })
})
