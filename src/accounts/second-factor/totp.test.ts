import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findTotpStep, generateTotpSecret, totpUri } from './totp.ts'

/** The secret of RFC 6238, appendix B, in base32. */
const rfcSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

describe('findTotpStep', () => {
  // Last six digits of the appendix's table for SHA-1.
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_234_567_890, '005924'],
    [20_000_000_000, '353130'],
  ])('accepts the code of the RFC at %d s', (epochS, code) => {
    expect(findTotpStep(rfcSecret, code, new Date(epochS * 1000))).toBe(Math.floor(epochS / 30))
  })

  it('accepts a code one step early or late, and returns its own step', () => {
    fc.assert(
      fc.property(fc.integer({ min: -90, max: 120 }), (offsetS) => {
        const step = 41_152_263
        const found = findTotpStep(rfcSecret, '005924', new Date((step * 30 + offsetS) * 1000))
        expect(found).toBe(offsetS >= -30 && offsetS < 60 ? step : null)
      }),
    )
  })

  it('refuses any other text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 64 }), (text) => {
        fc.pre(text !== '005924')
        const found = findTotpStep(rfcSecret, text, new Date(1_234_567_890_000))
        expect(found === null || /^\d{6}$/.test(text)).toBe(true)
      }),
    )
  })
})

describe('a new secret', () => {
  it('has 160 bits and is in the URI that apps read', () => {
    const secret = generateTotpSecret()
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    expect(generateTotpSecret()).not.toBe(secret)
    const uri = new URL(totpUri(secret, 'ada+1@example.test'))
    expect(uri.protocol).toBe('otpauth:')
    expect(decodeURIComponent(uri.pathname)).toContain('Signalbox:ada+1@example.test')
    expect(Object.fromEntries(uri.searchParams)).toMatchObject({
      secret,
      issuer: 'Signalbox',
      period: '30',
      digits: '6',
    })
  })
})
