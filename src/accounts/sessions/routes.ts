import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { requesterOf } from '../../http/requester.ts'
import { Empty } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import type { AccountParts, LoginGuard } from '../parts.ts'
import { findSsoUrl } from '../sso/find-sso-url.ts'
import { clearSessionCookies, setSessionCookies } from './cookies.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { sessionOf } from './open-session.ts'
import { passSecondFactor } from './pass-second-factor.ts'
import { LoginBody, LoginReply, LogoutReply, LookupBody, LookupReply, TwoFactorBody, presentLogin } from './wire.ts'

const tags = ['Accounts']

/** Login, second factor and logout. Source: spec, "OAuth", 7; "Authentication", 5. */
export function sessionRoutes(
  ctx: Context,
  { passwords, settings }: AccountParts,
  guard: LoginGuard,
): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.post(
      '/login',
      {
        config: { public: true },
        schema: { operationId: 'login', tags, security: [], body: LoginBody, response: { 200: LoginReply } },
      },
      async (request, reply) => {
        const { email, password, two_factor: code } = request.body
        const loggedIn = await login(
          ctx,
          { passwords, ...guard },
          { email, password, code, actor: requesterOf(request) },
        )
        setSessionCookies(ctx, reply, loggedIn.opened)
        return presentLogin(loggedIn)
      },
    )

    http.post(
      '/login/two_factor',
      {
        config: { beforeSecondFactor: true },
        schema: { operationId: 'twoFactor', tags, body: TwoFactorBody, response: { 200: Empty } },
      },
      async ({ caller, body, cookies }, reply) => {
        const expiresAt = await passSecondFactor(ctx, guard, { caller, code: body.two_factor })
        // The same values, which the browser may keep for longer now.
        setSessionCookies(ctx, reply, sessionOf(ctx, cookies['sessionid'] ?? '', expiresAt))
        return {}
      },
    )

    http.post(
      '/login/lookup',
      {
        config: { public: true },
        schema: { operationId: 'lookup', tags, security: [], body: LookupBody, response: { 200: LookupReply } },
      },
      async ({ body }) => {
        const ssoUrl = await findSsoUrl(ctx, settings, body.email)
        return ssoUrl === null ? {} : { sso_url: ssoUrl }
      },
    )

    http.post(
      '/logout',
      {
        config: { beforeSecondFactor: true },
        schema: { operationId: 'logout', tags, response: { 200: LogoutReply } },
      },
      async ({ caller, cookies }, reply) => {
        const sessionId = cookies['sessionid']
        const forwardUrl = sessionId === undefined ? null : await logout(ctx, caller, sessionId)
        clearSessionCookies(reply)
        return forwardUrl === null ? {} : { forward_url: forwardUrl }
      },
    )
  }
}
