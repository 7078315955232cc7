import { sessionCookieOf } from '../../access/authentication/session-cookie.ts'
import type { Context } from '../../platform/context.ts'
import { deviceCookieOf, newKnownDevice } from './known-device.ts'
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

/**
 * The attributes of every cookie that a login needs. Browsers send it to no other site, and only by HTTPS if the
 * service has it.
 */
export function cookieOptions({ baseUrl }: Context) {
  return { path: '/', sameSite: 'lax', secure: baseUrl.startsWith('https:') } as const
}

export function setSessionCookies(ctx: Context, reply: CookieReply, opened: OpenedSession): void {
  const shared = { ...cookieOptions(ctx), expires: opened.expiresAt }
  reply.setCookie(sessionCookieOf(ctx), opened.sessionId, { ...shared, httpOnly: true })
  // The page can read it and returns it in the X-CSRFToken header.
  reply.setCookie('csrftoken', opened.csrfToken, shared)
}

/** With this cookie the browser can sign in to the account while others guess its password. */
export function setDeviceCookie(ctx: Context, reply: CookieReply, email: string): void {
  const { value, expires } = newKnownDevice(ctx, email)
  reply.setCookie(deviceCookieOf(ctx), value, { ...cookieOptions(ctx), expires, httpOnly: true })
}

export function clearSessionCookies(ctx: Context, reply: CookieReply): void {
  const shared = cookieOptions(ctx)
  reply.clearCookie(sessionCookieOf(ctx), shared)
  reply.clearCookie('csrftoken', shared)
}
