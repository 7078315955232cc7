import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAddressGuard } from './address-guard.ts'

const strict = createAddressGuard({ allowCidrs: [], allowLoopback: false })

describe('createAddressGuard', () => {
  it.each(['1.1.1.1', '8.8.8.8', '172.32.0.1', '192.0.1.1', '223.255.255.255', '2606:4700:4700::1111', '2a00::1'])(
    'lets %s be called',
    (address) => {
      expect(strict(address)).toBe(true)
    },
  )

  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '203.0.113.7',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    '5f00::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%lo',
    'fec0::1',
    'ff02::1',
    '',
    'localhost',
    '127.1',
    '1.1.1.1 ',
    '2606::1%eth0',
  ])('blocks %s', (address) => {
    expect(strict(address)).toBe(false)
  })

  it('opens what the operator names, and loopback where asked, but never the metadata service', () => {
    const open = createAddressGuard({ allowCidrs: ['10.0.0.0/8', 'fd00::/8', '169.254.0.0/16'], allowLoopback: true })
    for (const address of ['10.1.2.3', 'fd00::1', '169.254.1.1', '127.0.0.1', '::1', '::ffff:10.0.0.1'])
      expect(open(address)).toBe(true)
    for (const address of ['192.168.0.1', 'fe80::1', '169.254.169.254', '::ffff:169.254.169.254', 'fd00:ec2::254'])
      expect(open(address)).toBe(false)
  })

  describe('with every range opened', () => {
    const everything = createAddressGuard({ allowCidrs: ['0.0.0.0/0', '::/0'], allowLoopback: true })

    it.each([
      '169.254.169.254',
      '169.254.170.2',
      '169.254.170.23',
      '169.254.42.42',
      '169.254.0.23',
      '100.100.100.200',
      '168.63.129.16',
      '192.0.0.192',
      'fd00:ec2::254',
      'FD00:0EC2:0:0:0:0:0:254',
      'fd00:ec2::23',
      'fd20:ce::254',
      'fd00:c1::a9fe:a9fe',
      'fd00:a9fe:a9fe::1',
      'fd00:42::42',
      'fe80::a9fe:a9fe',
      '::ffff:169.254.169.254',
      '::ffff:a9fe:a9fe',
      '::ffff:0:a9fe:a9fe',
      '::169.254.169.254',
      '::a9fe:a9fe',
      '64:ff9b::169.254.169.254',
      '64:ff9b::a9fe:aa17',
      '64:ff9b:1::a9fe:a9fe',
      '64:ff9b:1:2:3:4:6464:64c8',
      '64:ff9b:1:a9fe:a9:fe00::',
      '64:ff9b:1:a9fe:a9:fe00:1234:5678',
      '64:ff9b:1:ffa9:fe:a9fe::',
      '64:ff9b:1:abcd:a9:fea9:fe00:0',
      '2002:a9fe:a9fe::',
      '2002:a9fe:a9fe:1:2:3:4:5',
      '2002:a9fe:aa02::1',
      '2002:6464:64c8::1',
    ])('blocks the metadata service at %s', (address) => {
      expect(everything(address)).toBe(false)
    })

    it.each([
      '169.254.169.253',
      '10.0.0.5',
      '100.100.100.201',
      'fd00:ec2::253',
      'fd00:c1::a9fe:a9ff',
      'fd00:a9fe:a9fe::2',
      '::ffff:10.0.0.5',
      '::1',
      '64:ff9b::10.0.0.5',
      '64:ff9b:1:a9fe:a9:fd00::',
      '64:ff9b:2:a9fe:a9:fe00::',
      '2002:a9fe:a9fd::1',
      '2003:a9fe:a9fe::1',
    ])('lets %s be called', (address) => {
      expect(everything(address)).toBe(true)
    })
  })

  it('never lets a private IPv4 address through in any spelling of IPv6', () => {
    const octet = fc.integer({ min: 0, max: 255 })
    fc.assert(
      fc.property(octet, octet, octet, (a, b, c) => {
        const hex = (x: number, y: number) => ((x << 8) | y).toString(16)
        for (const prefix of ['::ffff:', '::', '64:ff9b::']) {
          expect(strict(`${prefix}10.${a}.${b}.${c}`)).toBe(false)
          expect(strict(`${prefix}${hex(10, a)}:${hex(b, c)}`)).toBe(false)
        }
        expect(strict(`2002:${hex(10, a)}:${hex(b, c)}::1`)).toBe(false)
      }),
    )
  })

  it.each(['10.0.0.0/33', '10.0.0/8', 'fd00::/129', '/8', '10.0.0.0/', '10.0.0.0/-1', 'host/8'])(
    'refuses the range %j',
    (cidr) => {
      expect(() => createAddressGuard({ allowCidrs: [cidr], allowLoopback: false })).toThrow(cidr)
    },
  )
})
