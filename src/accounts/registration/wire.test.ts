import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { check } from '../../http/validate.ts'
import { RegisterBody, parseRegistration, presentInfo } from './wire.ts'

const body = {
  email: 'Ada@Example.test',
  first_name: 'Ada',
  last_name: 'Lovelace',
  org_name: 'Engines',
  password: 'a horse of another color',
}

describe('parseRegistration', () => {
  it('fills in the defaults and omits absent fields', () => {
    expect(parseRegistration(body)).toEqual({
      email: 'ada@example.test',
      password: body.password,
      captcha: { response: null, flavor: 'google' },
      inviteCode: null,
      inviteToken: null,
      document: {
        first_name: 'Ada',
        last_name: 'Lovelace',
        org_name: 'Engines',
        account_only: false,
        profile: {},
      },
    })
  })

  it('prefers the names of the specification', () => {
    const both = { captcha: 'c', recaptcha: 'r', captcha_flavor: 'vendor_b', recaptcha_flavor: 'google' } as const
    expect(parseRegistration({ ...body, ...both }).captcha).toEqual({ response: 'c', flavor: 'hcaptcha' })
  })

  it('keeps the field whose name contains a space', () => {
    expect(parseRegistration({ ...body, 'street_address 2': 'Attic' }).document.profile).toEqual({
      'street_address 2': 'Attic',
    })
  })

  it('ignores every field that is not in the table', () => {
    const known = Object.keys(parseRegistration(body).document)
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (extra) => {
        const { document } = parseRegistration({ ...extra, ...body })
        fc.pre(
          !['allow_mist', 'no_tracking', 'return_to', 'account_only', 'city', 'country'].some((key) => key in extra),
        )
        expect(Object.keys(document)).toEqual(known)
      }),
    )
  })

  it.each([
    'ada',
    '@example.test',
    'ada@',
    'a b@example.test',
    'ada@-x.test',
    'ada@x..test',
    'ada@example.test>',
    'äda@example.test',
    'ada\u212a@x\u212a.tëst',
  ])('refuses the address %s', (email) => {
    expect(() => check(RegisterBody, { ...body, email })).toThrow(`Invalid field email: ${JSON.stringify(email)} is no`)
  })

  it.each(['ada@localhost', "o'hara+tag@example.test", 'a.b.c@sub.example.test'])('accepts %s', (email) => {
    expect(parseRegistration(check(RegisterBody, { ...body, email })).email).toBe(email)
  })
})

describe('presentInfo', () => {
  it('never lets the caller choose the provider', () => {
    const captcha = { flavor: 'hcaptcha', siteKey: 'key', secret: 's', verifyUrl: 'https://x.test' } as const
    const flavors = fc.constantFrom('vendor_a', 'vendor_b', 'google', 'hcaptcha')
    fc.assert(
      fc.property(fc.record({ captcha_flavor: flavors, recaptcha_flavor: flavors }, { requiredKeys: [] }), (query) => {
        const { flavor, ...rest } = presentInfo(captcha, query)
        expect(['vendor_b', 'hcaptcha']).toContain(flavor)
        expect(rest).toEqual({ required: true, sitekey: 'key' })
      }),
    )
  })
})
