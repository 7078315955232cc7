import { isIP } from 'node:net'
import type { AccountSettings } from './parts.ts'

/**
 * Whether a browser may be led to `url`, which a client has sent: an absolute http(s) address whose
 * origin is the service's own, one that the operator trusts, or on loopback for a server that only its
 * own machine reaches.
 */
export function isTrustedUrl(
  url: string,
  baseUrl: string,
  { trustedOrigins, trustLoopback }: Pick<AccountSettings, 'trustedOrigins' | 'trustLoopback'>,
): boolean {
  // Programs disagree on what else a URL may hold: blanks, controls, backslashes, other alphabets.
  if (!/^https?:\/\/[\x21-\x5b\x5d-\x7e]+$/i.test(url) || !URL.canParse(url)) return false
  const { origin, hostname, username, password } = new URL(url)
  if (username !== '' || password !== '') return false
  if (origin === new URL(baseUrl).origin || trustedOrigins.includes(origin)) return true
  return trustLoopback && namesLoopback(hostname.replace(/^\[|\]$/g, ''))
}

/** `127.example.com` is a name like any other. */
function namesLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
