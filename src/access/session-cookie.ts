/**
 * Returns the name of the cookie with a session. Under HTTPS its prefix makes browsers refuse one that another host of the
 * same domain sets, or that came without TLS: nobody can make them use a session of somebody else.
 */
export function sessionCookieOf({ baseUrl }: { readonly baseUrl: string }): string {
  return baseUrl.startsWith('https:') ? '__Host-sessionid' : 'sessionid'
}
