import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { requesterOf } from '../../http/requester.ts'
import { Empty } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import type { AccountParts, LoginGuard } from '../parts.ts'
import { setSessionCookies } from '../sessions/cookies.ts'
import { register } from './register.ts'
import { verifyRegistration } from './verify-registration.ts'
import {
  InfoQuery,
  InfoReply,
  RegisterBody,
  VerifyParams,
  VerifyReply,
  parseRegistration,
  presentInfo,
  presentVerified,
} from './wire.ts'

const open = { config: { public: true } }
const shared = { tags: ['Accounts'], security: [] }

/** Registration. Source: spec, "Registration", 8; contract, 8b and 8c. */
export function registrationRoutes(
  ctx: Context,
  parts: AccountParts,
  { throttle }: LoginGuard,
): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/register/recaptcha',
      {
        ...open,
        schema: {
          ...shared,
          operationId: 'getAdminRegistrationInfo',
          querystring: InfoQuery,
          response: { 200: InfoReply },
        },
      },
      async ({ query }, reply) => reply.send(presentInfo(parts.settings.captcha, query)),
    )

    http.post(
      '/register',
      { ...open, schema: { ...shared, operationId: 'registerNewAdmin', body: RegisterBody, response: { 200: Empty } } },
      async ({ body, ip }) => {
        await register(ctx, { ...parts, throttle }, { registration: parseRegistration(body), srcIp: ip })
        return {}
      },
    )

    http.post(
      '/register/verify/:token',
      {
        ...open,
        schema: { ...shared, operationId: 'verifyRegistration', params: VerifyParams, response: { 200: VerifyReply } },
      },
      async (request, reply) => {
        const { token } = request.params
        const verified = await verifyRegistration(ctx, parts.settings, { token, from: requesterOf(request) })
        setSessionCookies(ctx, reply, verified.opened)
        return reply.send(presentVerified(verified))
      },
    )
  }
}
