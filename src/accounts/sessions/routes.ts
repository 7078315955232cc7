import { sessionCookieOf } from '../../access/authentication/session-cookie.ts'
import { nobody, self } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { requesterOf } from '../../http/connections/requester.ts'
import { Empty, ErrorReply } from '../../http/schemas.ts'
import { limitPerOwner } from '../../platform/names/limit-per-owner.ts'
import type { AccountParts, LoginGuard } from '../parts.ts'
import { findSsoUrl } from '../sso/find-sso-url.ts'
import { clearSessionCookies, setDeviceCookie, setSessionCookies } from './cookies.ts'
import { deviceCookieOf } from './known-device.ts'
import { SIGN_INS_AT_ONCE, login } from './login.ts'
import { logout } from './logout.ts'
import { sessionOf } from './open-session.ts'
import { passSecondFactor } from './pass-second-factor.ts'
import { LoginBody, LoginReply, LogoutReply, LookupBody, LookupReply, TwoFactorBody, presentLogin } from './wire.ts'

const tag = 'Accounts'

/** Login, second factor and logout. Source: spec, "OAuth", 7; "Authentication", 5. */
export function loginOperations({ passwords, settings }: AccountParts, guard: LoginGuard): Operation[] {
  const inTurn = limitPerOwner(SIGN_INS_AT_ONCE)
  return [
    operation({
      id: 'login',
      summary: 'Sign in with address and password',
      method: 'POST',
      tag,
      at: nobody('/login'),
      body: LoginBody,
      reply: LoginReply,
      run: async (ctx, { body, request, reply }) => {
        const { email, password, two_factor: code } = body
        const device = request.cookies[deviceCookieOf(ctx)]
        const attempt = { email, password, code, device, actor: requesterOf(request) }
        const loggedIn = await login(ctx, { passwords, inTurn, ...guard }, attempt)
        setSessionCookies(ctx, reply, loggedIn.opened)
        setDeviceCookie(ctx, reply, loggedIn.email)
        return presentLogin(loggedIn)
      },
    }),
    operation({
      id: 'twoFactor',
      summary: 'Complete a sign-in with the second factor',
      method: 'POST',
      tag,
      at: self('/login/two_factor', { beforeSecondFactor: true }),
      body: TwoFactorBody,
      reply: Empty,
      errors: { 404: ErrorReply },
      run: async (ctx, { caller, body, request: { cookies }, reply }) => {
        const expiresAt = await passSecondFactor(ctx, guard, { caller, code: body.two_factor })
        // The cookies keep their values and last longer.
        setSessionCookies(ctx, reply, sessionOf(ctx, cookies[sessionCookieOf(ctx)] ?? '', expiresAt))
      },
    }),
    operation({
      id: 'lookup',
      summary: 'Look up how an address signs in',
      method: 'POST',
      tag,
      at: nobody('/login/lookup'),
      body: LookupBody,
      reply: LookupReply,
      run: async (ctx, { body }) => {
        const ssoUrl = await findSsoUrl(ctx, settings, body.email)
        return ssoUrl === null ? {} : { sso_url: ssoUrl }
      },
    }),
    operation({
      id: 'logout',
      summary: 'Sign out',
      method: 'POST',
      tag,
      at: self('/logout', { beforeSecondFactor: true }),
      reply: LogoutReply,
      run: async (ctx, { caller, request: { cookies }, reply }) => {
        const sessionId = cookies[sessionCookieOf(ctx)]
        const forwardUrl = sessionId === undefined ? null : await logout(ctx, caller, sessionId)
        clearSessionCookies(ctx, reply)
        return forwardUrl === null ? {} : { forward_url: forwardUrl }
      },
    }),
  ].flat()
}
