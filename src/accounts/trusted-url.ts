import { isLoopbackUrl } from '../platform/loopback.ts'
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
  const parsed = new URL(url)
  if (parsed.username !== '' || parsed.password !== '') return false
  const { origin } = parsed
  if (origin === new URL(baseUrl).origin || trustedOrigins.includes(origin)) return true
  return trustLoopback && isLoopbackUrl(parsed)
}
