import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Empty } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import type { AccountParts } from '../parts.ts'
import { clearSessionCookies, setSessionCookies } from './cookies.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { LoginBody } from './wire.ts'

/** Login and logout. Source: spec, "OAuth", 7; "Authentication", 5. */
export function sessionRoutes(ctx: Context, { passwords }: AccountParts): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.post(
      '/login',
      {
        config: { public: true },
        schema: { operationId: 'login', tags: ['Accounts'], security: [], body: LoginBody, response: { 200: Empty } },
      },
      async ({ body, ip, headers }, reply) => {
        const actor = { srcIp: ip, userAgent: headers['user-agent']?.slice(0, 500) ?? null }
        const opened = await login(ctx, passwords, { ...body, actor })
        setSessionCookies(reply, opened, ctx.baseUrl.startsWith('https:'))
        return {}
      },
    )

    http.post(
      '/logout',
      {
        config: { beforeSecondFactor: true },
        schema: { operationId: 'logout', tags: ['Accounts'], response: { 200: Empty } },
      },
      async ({ cookies }, reply) => {
        if (cookies['sessionid'] !== undefined) await logout(ctx, cookies['sessionid'])
        clearSessionCookies(reply)
        return {}
      },
    )
  }
}
