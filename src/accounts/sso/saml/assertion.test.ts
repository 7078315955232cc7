import { describe, expect, it } from 'vitest'
import { parseAssertion } from './assertion.ts'

const text = (value: string) => [{ _: value }]
const data = { $: { Recipient: 'acs', InResponseTo: '_r', NotOnOrAfter: 'later' } }
const good = {
  $: { ID: '_a', Version: '2.0' },
  Issuer: ['idp'],
  Subject: [
    {
      NameID: [{ _: 'ada', $: { Format: 'f' } }],
      SubjectConfirmation: [{ $: { Method: 'bearer' }, SubjectConfirmationData: [data] }],
    },
  ],
  Conditions: [{ $: { NotBefore: 'now' }, AudienceRestriction: [{ Audience: text('us') }] }],
  AuthnStatement: [{ $: { SessionIndex: 's' } }],
  AttributeStatement: [
    {
      Attribute: [
        { $: { Name: 'Role' }, AttributeValue: [{ _: 'a', $: { 'xsi:type': 'xs:string' } }, 'b'] },
        { $: { Name: 'Role' }, AttributeValue: [''] },
        { $: { Name: 'Empty' } },
      ],
    },
    '',
  ],
}
const parse = (change: object) => parseAssertion({ Assertion: { ...good, ...change } })

describe('a parsed assertion', () => {
  it('is parsed as a whole', () => {
    expect(parse({})).toEqual({
      id: '_a',
      issuer: 'idp',
      nameId: 'ada',
      nameIdFormat: 'f',
      confirmations: [
        { method: 'bearer', recipient: 'acs', inResponseTo: '_r', notBefore: null, notOnOrAfter: 'later' },
      ],
      notBefore: 'now',
      notOnOrAfter: null,
      audiences: [['us']],
      authentications: [{ sessionIndex: 's', sessionNotOnOrAfter: null }],
      attributes: new Map([
        ['Role', ['a', 'b', '']],
        ['Empty', []],
      ]),
    })
  })

  it('needs no attributes, and returns null for absent limits of a confirmation', () => {
    const SubjectConfirmation = [{ $: { Method: 'bearer' }, SubjectConfirmationData: [''] }]
    const read = parse({ AttributeStatement: undefined, Subject: [{ NameID: text('ada'), SubjectConfirmation }] })
    expect(read?.attributes.size).toBe(0)
    expect(read?.confirmations).toEqual([
      { method: 'bearer', recipient: null, inResponseTo: null, notBefore: null, notOnOrAfter: null },
    ])
  })

  it.each([
    ['no id', { $: {} }],
    ['two issuers', { Issuer: ['idp', 'other'] }],
    ['two subjects', { Subject: [good.Subject[0], good.Subject[0]] }],
    ['two names', { Subject: [{ ...good.Subject[0], NameID: [...text('ada'), ...text('ceo')] }] }],
    ['a name without text', { Subject: [{ ...good.Subject[0], NameID: [''] }] }],
    ['no conditions', { Conditions: undefined }],
    ['two sets of conditions', { Conditions: [...good.Conditions, ...good.Conditions] }],
    ['no audience', { Conditions: [{}] }],
    ['no sign-in', { AuthnStatement: undefined }],
  ])('is refused with %s', (_name, change) => {
    expect(parse(change)).toBeNull()
  })

  it('is not any other value', () => {
    for (const value of [null, undefined, 'text', 7, {}, { Response: good }]) expect(parseAssertion(value)).toBeNull()
  })
})
