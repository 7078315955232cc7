/** The content of an `Authorization` header. */
export interface Authorization {
  readonly scheme: 'token' | 'basic'
  /** The token; or the address in lower case, a colon and the password. */
  readonly value: string
}

/** Headers with the same credentials have the same result. @returns undefined for any other header. */
export function parseAuthorization(header: string): Authorization | undefined {
  const [scheme = '', value, ...others] = header.trim().split(/\s+/)
  if (value === undefined || others.length > 0) return undefined
  if (/^token$/i.test(scheme)) return { scheme: 'token', value }
  return /^basic$/i.test(scheme) ? { scheme: 'basic', value: parseLogin(value) } : undefined
}

/** Returns one text for all headers with the same credentials; an empty one for a header without any. */
export function canonicalAuthorization(header: string): string {
  const authorization = parseAuthorization(header)
  return authorization === undefined ? '' : `${authorization.scheme} ${authorization.value}`
}

function parseLogin(encoded: string): string {
  const plain = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = plain.indexOf(':')
  return colon < 0 ? plain : plain.slice(0, colon).trim().toLowerCase() + plain.slice(colon)
}
