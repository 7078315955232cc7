import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { Empty } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import type { AccountParts } from './parts.ts'
import { type OpenedSession, login, logout } from './sessions/login.ts'
import { LoginBody, SelfReply, presentSelf } from './wire.ts'

/** Login, logout and the account record. Source: spec, "OAuth", 6 and 7; "Authentication", 5. */
export function accountRoutes(ctx: Context, { passwords }: AccountParts): FastifyPluginAsyncTypebox {
  const secure = ctx.baseUrl.startsWith('https:')
  return async (http) => {
    http.get(
      '/self',
      { schema: { operationId: 'getSelf', tags: ['Accounts'], response: { 200: SelfReply } } },
      async ({ caller }, reply) => reply.send(presentSelf(caller.principal)),
    )

    http.post(
      '/login',
      {
        config: { public: true },
        schema: { operationId: 'login', tags: ['Accounts'], security: [], body: LoginBody, response: { 200: Empty } },
      },
      async ({ body }, reply) => {
        setSessionCookies(reply, await login(ctx, passwords, body), secure)
        return {}
      },
    )

    http.post(
      '/logout',
      { schema: { operationId: 'logout', tags: ['Accounts'], response: { 200: Empty } } },
      async ({ cookies }, reply) => {
        if (cookies['sessionid'] !== undefined) await logout(ctx, cookies['sessionid'])
        void reply.clearCookie('sessionid', { path: '/' }).clearCookie('csrftoken', { path: '/' })
        return {}
      },
    )
  }
}

function setSessionCookies(reply: FastifyReply, opened: OpenedSession, secure: boolean): void {
  const shared = { path: '/', sameSite: 'lax', secure, expires: opened.expiresAt } as const
  void reply
    .setCookie('sessionid', opened.sessionId, { ...shared, httpOnly: true })
    // Readable by the page, which returns it in the X-CSRFToken header.
    .setCookie('csrftoken', opened.csrfToken, shared)
}
