import type { OpenedSession } from './open-session.ts'

interface CookieOptions {
  readonly path: '/'
  readonly sameSite?: 'lax'
  readonly secure?: boolean
  readonly httpOnly?: boolean
  readonly expires?: Date
}

/** The part of the HTTP layer's reply that cookies need. */
interface CookieReply {
  setCookie(name: string, value: string, options: CookieOptions): unknown
  clearCookie(name: string, options: CookieOptions): unknown
}

/** @param secure Whether clients reach the server by https. */
export function setSessionCookies(reply: CookieReply, opened: OpenedSession, secure: boolean): void {
  const shared = { path: '/', sameSite: 'lax', secure, expires: opened.expiresAt } as const
  reply.setCookie('sessionid', opened.sessionId, { ...shared, httpOnly: true })
  // Readable by the page, which returns it in the X-CSRFToken header.
  reply.setCookie('csrftoken', opened.csrfToken, shared)
}

export function clearSessionCookies(reply: CookieReply): void {
  reply.clearCookie('sessionid', { path: '/' })
  reply.clearCookie('csrftoken', { path: '/' })
}
