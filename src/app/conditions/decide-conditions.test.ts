import { describe, expect, test } from 'vitest'
import { decideCertificates, decideDisk, decideUsage } from './decide-conditions.ts'

const GIB = 1024 ** 3
const now = new Date('2026-11-20T12:00:00Z')

describe('a certificate', () => {
  const decide = (notAfter: string) =>
    decideCertificates([{ of: 'the HTTPS server', notAfter: new Date(notAfter) }], now)

  test('is worth an event within its last 30 days, and after its end', () => {
    expect(decide('2026-12-20T12:00:00Z')).toEqual([])
    expect(decide('2026-12-20T11:59:59Z')).toMatchObject([
      { type: 'CERTIFICATE_EXPIRING', text: 'The certificate of the HTTPS server expires on 2026-12-20' },
    ])
    expect(decide('2026-11-20T12:00:00Z')).toMatchObject([
      { text: expect.stringContaining('has expired on 2026-11-20') },
    ])
  })

  test('of a CA is worth an event a year before its end, because all devices need new certificates until then', () => {
    const ca = (notAfter: string) =>
      decideCertificates([{ of: 'the CA of devices', notAfter: new Date(notAfter), isCa: true }], now)
    expect(ca('2027-11-20T12:00:00Z')).toEqual([])
    expect(ca('2027-11-20T11:59:59Z')).toMatchObject([
      { type: 'CERTIFICATE_EXPIRING', text: 'The certificate of the CA of devices expires on 2027-11-20' },
    ])
  })
})

describe('a quota', () => {
  const decide = (usedGib: number, isOpen: boolean, maxGib = 100) =>
    decideUsage({
      of: 'pictures of the organization',
      subject: 'pictures',
      usedBytes: usedGib * GIB,
      maxBytes: maxGib * GIB,
      isOpen,
    })

  test('is nearly full from 90 percent on, and until it is below 85', () => {
    expect(decide(89.9, false)).toBeNull()
    expect(decide(90, false)).toMatchObject({ text: 'Pictures of the organization use 90.0 of 100.0 GiB' })
    expect(decide(85, true)).not.toBeNull()
    expect(decide(84.9, true)).toBeNull()
  })

  test('of nothing at all is not watched', () => expect(decide(0, false, 0)).toBeNull())
})

describe('the disk', () => {
  const decide = (freeGib: number, isOpen: boolean, reserveGib = 2) =>
    decideDisk({ freeBytes: freeGib * GIB, reserveBytes: reserveGib * GIB, isOpen })

  test('is nearly full below twice the reserve, and until it has two and a half times as much free', () => {
    expect(decide(4, false)).toBeNull()
    expect(decide(3.9, false)?.text).toBe(
      'The disk of the server has 3.9 GiB free, and uploads are refused below 2.0 GiB',
    )
    expect(decide(4.9, true)).not.toBeNull()
    expect(decide(5, true)).toBeNull()
  })

  test('without a reserve is not watched', () => expect(decide(0, false, 0)).toBeNull())
})
