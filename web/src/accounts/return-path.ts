/**
 * Returns the path to open after signing in. Only paths of this server are allowed: otherwise a mailed link could send
 * a person who has just signed in anywhere.
 */
export function returnPath(given: unknown, origin: string): string {
  if (typeof given !== 'string' || !given.startsWith('/') || !URL.canParse(given, origin)) return '/'
  const url = new URL(given, origin)
  if (url.origin !== origin || url.pathname.startsWith('/sign-in')) return '/'
  return url.pathname + url.search + url.hash
}
