import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { documentFault } from './decide-document.ts'

const sha = {
  1: ['http://www.w3.org/2000/09/xmldsig#rsa-sha1', 'http://www.w3.org/2000/09/xmldsig#sha1'],
  256: ['http://www.w3.org/2001/04/xmldsig-more#rsa-sha256', 'http://www.w3.org/2001/04/xmlenc#sha256'],
  512: ['http://www.w3.org/2001/04/xmldsig-more#rsa-sha512', 'http://www.w3.org/2001/04/xmlenc#sha512'],
} as const

function signed([signature, digest]: readonly [string, string], prefix = 'ds:'): string {
  return `<r><${prefix}SignatureMethod Algorithm="${signature}"/><${prefix}DigestMethod Algorithm='${digest}' /></r>`
}

describe('a document', () => {
  it('is parsed if its size and its signature are usual', () => {
    expect(documentFault('<r><!-- a comment --><![CDATA[text]]></r>')).toBeNull()
    for (const prefix of ['', 'ds:', 'a-b.c:']) expect(documentFault(signed(sha[256], prefix))).toBeNull()
    expect(documentFault(signed(sha[512]))).toBeNull()
  })

  it('is refused if it declares types or entities, however they are written', () => {
    for (const text of ['<!DOCTYPE a>', '<!doctype a>', '<!\nDOCTYPE a>', '<!ENTITY a "b">', '<!ELEMENT a>', '<!- a>'])
      expect(documentFault(`${text}<r/>`)).toMatch(/document type/)
  })

  it('is limited in size, elements and attributes', () => {
    expect(documentFault('x'.repeat(131_073))).toMatch(/larger/)
    expect(documentFault('<a>'.repeat(2001))).toMatch(/elements/)
    expect(documentFault(`<a ${'b="" '.repeat(4001)}/>`)).toMatch(/attributes/)
    expect(documentFault(signed(sha[256]).repeat(3))).toMatch(/signatures/)
  })

  it('must be signed with a strong hash', () => {
    expect(documentFault(signed(sha[1]))).toMatch(/weaker/)
    expect(documentFault(signed([sha[256][0], sha[1][1]]))).toMatch(/weaker/)
    expect(documentFault(signed(sha[1]), 'sha1')).toBeNull()
    expect(documentFault(signed(sha[256]), 'sha1')).toBeNull()
    expect(documentFault(signed(sha[256]), 'sha512')).toMatch(/weaker/)
    expect(documentFault(signed(sha[256]), 'sha384')).toMatch(/weaker/)
    expect(documentFault(signed(sha[512]), 'sha384')).toBeNull()
    expect(documentFault(signed(['http://www.w3.org/2000/09/xmldsig#hmac-sha1', sha[256][1]]))).toMatch(/not supported/)
  })

  it('must not hide how it is signed', () => {
    const hidden = [
      `<ds:SignatureMethod a="b" Algorithm="${sha[256][0]}"/>`,
      `<ds:SignatureMethod Algorithm="${sha[1][0].replace('rsa', '&#114;sa')}"/>`,
      '<ds:SignatureMethod/>',
      `<\u00e4:SignatureMethod Algorithm="${sha[256][0]}"/>`,
    ]
    for (const text of hidden) expect(documentFault(text)).toMatch(/can't be read/)
  })

  it('must not be encrypted', () => {
    expect(documentFault('<saml:EncryptedAssertion/>')).toMatch(/encrypted/)
  })

  it('never makes the check fail', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const fault = documentFault(text)
        expect(fault === null || fault.length > 0).toBe(true)
      }),
    )
  })
})
