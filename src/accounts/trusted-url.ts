import { isLoopbackUrl } from '../platform/outbound/loopback.ts'
import type { AccountSettings } from './parts.ts'

/**
 * True if a browser may be redirected to `url`, which a client has sent. It must be an absolute http(s) URL whose
 * origin is the service's own or one that the operator trusts, or a loopback URL if the server listens on loopback
 * only.
 */
export function isTrustedUrl(
  url: string,
  baseUrl: string,
  { trustedOrigins, trustLoopback }: Pick<AccountSettings, 'trustedOrigins' | 'trustLoopback'>,
): boolean {
  // Programs parse URLs with blanks, control characters, backslashes or non-ASCII characters differently.
  if (!/^https?:\/\/[\x21-\x5b\x5d-\x7e]+$/i.test(url) || !URL.canParse(url)) return false
  const parsed = new URL(url)
  if (parsed.username !== '' || parsed.password !== '') return false
  const { origin } = parsed
  if (origin === new URL(baseUrl).origin || trustedOrigins.includes(origin)) return true
  return trustLoopback && isLoopbackUrl(parsed)
}
