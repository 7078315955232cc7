import { expect, it } from 'vitest'
import { type Sso, changesOf, textsOf } from './sso-fields.ts'

const sso: Sso = { id: 'i', org_id: 'o', domain: 'd', name: 'Company', created_time: 1, modified_time: 1, issuer: 'x' }

it('begins with what is kept, and with the defaults', () => {
  expect(textsOf(sso)).toMatchObject({ name: 'Company', issuer: 'x', idp_sign_algo: 'sha256', default_role: '' })
})

it('sends what differs', () => {
  expect(changesOf(textsOf(sso), sso)).toEqual({})
  expect(changesOf({ ...textsOf(sso), issuer: ' y ', idp_sign_algo: 'sha512' }, sso)).toEqual({
    issuer: 'y',
    idp_sign_algo: 'sha512',
  })
})
