import type { SsoDocument } from '../../tables.ts'

/** Identity providers send far less, and a parser handles this much quickly. */
const MAX_CHARS = 128 * 1024
const MAX_TAGS = 2000
const MAX_ATTRIBUTES = 4000
/** The signatures of the assertion and of the response. */
const MAX_SIGNATURES = 2

/** No algorithm with sha384 is among those below, because the library can't verify them. */
const strength = ['sha1', 'sha256', 'sha384', 'sha512'] as const
type Strength = (typeof strength)[number]

const signatureMethods: Readonly<Record<string, Strength>> = {
  'http://www.w3.org/2000/09/xmldsig#rsa-sha1': 'sha1',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512': 'sha512',
}
const digestMethods: Readonly<Record<string, Strength>> = {
  'http://www.w3.org/2000/09/xmldsig#sha1': 'sha1',
  'http://www.w3.org/2001/04/xmlenc#sha256': 'sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512': 'sha512',
}

/**
 * Decides whether a message may be parsed at all. Document types, for example, define entities, which can expand
 * without bounds, and no SAML message has one.
 *
 * @param weakest The weakest hash that the SSO accepts.
 * @returns What is wrong with it; null if nothing is.
 */
export function documentFault(xml: string, weakest: SsoDocument['idp_sign_algo'] = 'sha256'): string | null {
  if (xml.length > MAX_CHARS) return `The message is larger than ${MAX_CHARS} characters`
  if (/<!(?!--|\[CDATA\[)/.test(xml)) return 'The message declares a document type'
  if (count(xml, /</g) > MAX_TAGS) return 'The message has too many elements'
  if (count(xml, /=\s*["']/g) > MAX_ATTRIBUTES) return 'The message has too many attributes'
  if (count(xml, /<[^<>\s/]*SignatureMethod/g) > MAX_SIGNATURES) return 'The message has too many signatures'
  // We publish no key that anyone could have encrypted it for.
  if (/<[^<>\s/]*EncryptedAssertion/.test(xml)) return 'The assertion is encrypted'
  return (
    methodFault(xml, { element: 'SignatureMethod', known: signatureMethods, weakest }) ??
    methodFault(xml, { element: 'DigestMethod', known: digestMethods, weakest })
  )
}

interface Methods {
  readonly element: string
  readonly known: Readonly<Record<string, Strength>>
  readonly weakest: string
}

/** Every element with the name must have an accepted algorithm, written in the plainest way. */
function methodFault(xml: string, { element, known, weakest }: Methods): string | null {
  const all = count(xml, new RegExp(`<[^<>\\s/]*${element}`, 'g'))
  const plain = [...xml.matchAll(new RegExp(`<(?:[\\w.-]+:)?${element}\\s+Algorithm=["']([^"'&<>]*)["']`, 'g'))]
  if (plain.length !== all) return `The message has a ${element} that can't be read`
  for (const [, algorithm = ''] of plain) {
    const hash = known[algorithm]
    if (hash === undefined) return `${element} ${algorithm.slice(0, 100)} is not supported`
    if (strength.indexOf(hash) < strength.findIndex((name) => name === weakest))
      return `${element} ${algorithm} is weaker than the SSO's idp_sign_algo ${weakest}`
  }
  return null
}

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length
}
