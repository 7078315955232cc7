import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Assertion, Confirmation } from './assertion.ts'
import { decideAssertion, parseInstant } from './decide-assertion.ts'

const now = new Date('2026-03-01T12:00:00Z')
const expected = { issuer: 'idp', entityId: 'us', acsUrl: 'https://us/acs', now }
const at = (ms: number): string => new Date(now.getTime() + ms).toISOString()

const confirmation: Confirmation = {
  method: 'urn:oasis:names:tc:SAML:2.0:cm:bearer',
  recipient: 'https://us/acs',
  inResponseTo: '_request',
  notBefore: null,
  notOnOrAfter: at(300_000),
}
const good: Assertion = {
  id: '_a',
  issuer: 'idp',
  nameId: 'ada@example.test',
  nameIdFormat: null,
  confirmations: [confirmation],
  notBefore: at(-1000),
  notOnOrAfter: at(300_000),
  audiences: [['us']],
  authentications: [{ sessionIndex: 'index', sessionNotOnOrAfter: null }],
  attributes: new Map(),
}

const decide = (change: Partial<Assertion>) => decideAssertion({ ...good, ...change }, expected)
const confirmed = (change: Partial<Confirmation>) => decide({ confirmations: [{ ...confirmation, ...change }] })

describe('an assertion', () => {
  it('is accepted if it is meant for us and valid now', () => {
    expect(decide({})).toEqual({
      kind: 'accept',
      requestId: '_request',
      subject: 'ada@example.test',
      sessionId: 'index',
      sessionEnd: null,
      usableUntil: new Date(now.getTime() + 420_000),
    })
  })

  it('is accepted without a session index, and its id names the session', () => {
    const authentications = [{ sessionIndex: null, sessionNotOnOrAfter: at(1000) }]
    expect(decide({ authentications })).toMatchObject({
      kind: 'accept',
      sessionId: '_a',
      sessionEnd: new Date(now.getTime() + 121_000),
    })
  })

  it('is accepted if one of several confirmations fits', () => {
    const confirmations = [{ ...confirmation, recipient: 'https://other/acs' }, confirmation]
    expect(decide({ confirmations })).toMatchObject({ kind: 'accept' })
  })

  it.each<[string, Partial<Assertion>]>([
    ['another issuer', { issuer: 'idp2' }],
    ['no audience', { audiences: [] }],
    ['an audience that names others', { audiences: [['them']] }],
    ['one of two restrictions that leaves us out', { audiences: [['us'], ['them']] }],
    ['an empty NameID', { nameId: ' ' }],
    ['a NameID without end', { nameId: 'a'.repeat(257) }],
    ['a NameID in two lines', { nameId: 'ada@example.test\nroot' }],
    ['a transient NameID', { nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient' }],
    ['no confirmation', { confirmations: [] }],
    ['conditions that have ended', { notOnOrAfter: at(-120_000) }],
    ['conditions that have not begun', { notBefore: at(120_001) }],
    ['conditions that are no time', { notOnOrAfter: 'never' }],
    ['a session that has ended', { authentications: [{ sessionIndex: null, sessionNotOnOrAfter: at(-120_000) }] }],
  ])('with %s is refused', (_name, change) => {
    expect(decide(change)).toMatchObject({ kind: 'refuse', why: expect.any(String) })
  })

  it.each<[string, Partial<Confirmation>]>([
    ['another method', { method: 'urn:oasis:names:tc:SAML:2.0:cm:holder-of-key' }],
    ['another recipient', { recipient: 'https://us/acs/' }],
    ['no recipient', { recipient: null }],
    ['no request', { inResponseTo: null }],
    ['no end', { notOnOrAfter: null }],
    ['an end that is over', { notOnOrAfter: at(-120_000) }],
    ['a beginning to come', { notBefore: at(120_001) }],
  ])('whose confirmation has %s is refused', (_name, change) => {
    expect(confirmed(change)).toMatchObject({ kind: 'refuse', why: expect.any(String) })
  })

  it('is accepted exactly while its times allow it, with a tolerance of two minutes', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -600_000, max: 600_000 }),
        fc.integer({ min: -600_000, max: 600_000 }),
        (from, to) => {
          const inTime = from <= 120_000 && to > -120_000
          const times = { notBefore: at(from), notOnOrAfter: at(to) }
          expect(decide(times).kind).toBe(inTime ? 'accept' : 'refuse')
          expect(confirmed(times).kind).toBe(inTime ? 'accept' : 'refuse')
        },
      ),
    )
  })
})

describe('a time', () => {
  it('is parsed to the same instant', () => {
    const years = { min: new Date(0), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }
    fc.assert(
      fc.property(fc.date(years), (date) => {
        expect(parseInstant(date.toISOString())).toEqual(date)
      }),
    )
  })

  it('must be in UTC', () => {
    for (const text of ['', '2026', '2026-03-01T12:00:00', '2026-03-01T12:00:00+01:00', '2026-13-01T12:00:00Z', '1e3Z'])
      expect(parseInstant(text)).toBeNull()
  })
})
