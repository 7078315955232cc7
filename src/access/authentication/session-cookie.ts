/**
 * Returns the name of the session cookie. Under HTTPS its prefix makes browsers refuse one that another host of the
 * same domain sets, or that came without TLS: an attacker can't make them use another session.
 */
export function sessionCookieOf({ baseUrl }: { readonly baseUrl: string }): string {
  return baseUrl.startsWith('https:') ? '__Host-sessionid' : 'sessionid'
}
