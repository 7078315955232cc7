import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { requesterOf } from '../../http/requester.ts'
import { Empty } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import type { AccountParts, LoginGuard } from '../parts.ts'
import { setSessionCookies } from '../sessions/cookies.ts'
import { LoginReply, presentLogin } from '../sessions/wire.ts'
import { recover } from './recover.ts'
import { resetPassword } from './reset-password.ts'
import { RecoverBody, ResetBody, ResetParams, parseRecovery } from './wire.ts'

const open = { config: { public: true } }
const shared = { tags: ['Accounts'], security: [] }

/** A forgotten password. Source: contract, POST /recover. */
export function recoveryRoutes(ctx: Context, parts: AccountParts, { throttle }: LoginGuard): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.post(
      '/recover',
      { ...open, schema: { ...shared, operationId: 'recoverPassword', body: RecoverBody, response: { 200: Empty } } },
      async ({ body, ip }) => {
        await recover(ctx, { ...parts, throttle }, parseRecovery(body, ip))
        return {}
      },
    )

    http.post(
      '/recover/verify/:token',
      {
        ...open,
        schema: {
          ...shared,
          operationId: 'verifyRecoverPassword',
          params: ResetParams,
          body: ResetBody,
          response: { 200: LoginReply },
        },
      },
      async (request, reply) => {
        const { params, body } = request
        const reset = { token: params.token, password: body.password, actor: requesterOf(request) }
        const loggedIn = await resetPassword(ctx, { ...parts, throttle }, reset)
        setSessionCookies(ctx, reply, loggedIn.opened)
        return presentLogin(loggedIn)
      },
    )
  }
}
