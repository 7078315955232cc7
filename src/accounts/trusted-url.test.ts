import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isTrustedUrl } from './trusted-url.ts'

const baseUrl = 'https://signalbox.example.test/base'
const settings = { trustedOrigins: ['https://portal.example.test', 'http://[2001:db8::1]:81'], trustLoopback: false }
const local = { trustedOrigins: [], trustLoopback: true }

describe('isTrustedUrl', () => {
  it.each([
    'https://signalbox.example.test/',
    'https://signalbox.example.test:443/anything?at=all#here',
    'https://portal.example.test',
    'HTTPS://Portal.Example.Test/x',
    'http://[2001:db8::1]:81/x',
  ])('trusts %s', (url) => {
    expect(isTrustedUrl(url, baseUrl, settings)).toBe(true)
  })

  it.each([
    '',
    '/',
    '//portal.example.test/',
    'portal.example.test',
    'http://portal.example.test/',
    'https://portal.example.test:444/',
    'https://portal.example.test.evil.test/',
    'https://evil.test/https://portal.example.test/',
    'https://evil.test?portal.example.test',
    'https://portal.example.test@evil.test/',
    'https://user@portal.example.test/',
    'https://:pass@portal.example.test/',
    'https://evil.test\\@portal.example.test/',
    'https:\\\\portal.example.test/',
    'https:portal.example.test',
    ' https://portal.example.test/',
    'https://portal.example.test/\nx',
    'https://portal.example.test/\u202e',
    'https://portal.exampl\u0435.test/',
    'javascript:alert(1)//https://portal.example.test',
    'data:text/html,x',
    'http://localhost/',
    'http://127.0.0.1/',
  ])('does not trust %j', (url) => {
    expect(isTrustedUrl(url, baseUrl, settings)).toBe(false)
  })

  it.each(['http://127.0.0.1:9/x', 'http://127.1/', 'https://localhost:3000', 'http://[::1]:5/'])(
    'trusts %s on a server that only its own machine reaches',
    (url) => {
      expect(isTrustedUrl(url, baseUrl, local)).toBe(true)
    },
  )

  it.each([
    'http://127.evil.test/',
    'http://localhost.evil.test/',
    'http://0.0.0.0/',
    'http://[::ffff:127.0.0.1]/',
    'http://10.0.0.1/',
  ])('does not trust %s even then', (url) => {
    expect(isTrustedUrl(url, baseUrl, local)).toBe(false)
  })

  it('judges a URL as browsers parse it', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.webUrl(),
          fc.string().map((text) => `https://portal.example.test${text}`),
        ),
        (url) => {
          fc.pre(isTrustedUrl(url, baseUrl, settings))
          expect(['https://portal.example.test', 'https://signalbox.example.test']).toContain(
            new URL(url, 'https://page.test').origin,
          )
        },
      ),
      { numRuns: 300 },
    )
  })
})
