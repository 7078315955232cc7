import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { requesterOf } from '../../http/requester.ts'
import { Empty } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import type { AccountParts, LoginGuard } from '../parts.ts'
import { parseEmail } from '../registration/wire.ts'
import { confirmEmail, requestEmailChange } from './change-email.ts'
import { requirePerson } from './person.ts'
import { EmailBody, EmailParams } from './wire.ts'

const tags = ['Accounts']

/** Change of the account's address. Source: contract, POST /self/update. */
export function selfEmailRoutes(ctx: Context, parts: AccountParts, guard: LoginGuard): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.post(
      '/self/update',
      { schema: { operationId: 'updateSelfEmail', tags, body: EmailBody, response: { 200: Empty } } },
      async ({ caller, body }) => {
        const change = { caller: requirePerson(caller), email: parseEmail(body.email), password: body.password }
        await requestEmailChange(ctx, { ...parts, ...guard }, change)
        return {}
      },
    )

    http.get(
      '/self/update/verify/:token',
      // Published as a GET. It needs the account's own credentials, which a program that only follows the
      // links of mails has not; the mail leads to a page of ours anyway.
      { schema: { operationId: 'verifySelfEmail', tags, params: EmailParams, response: { 200: Empty } } },
      async ({ caller, params }) => {
        const { srcIp, userAgent } = caller
        await confirmEmail(ctx, parts, { token: params.token, caller: requirePerson(caller), srcIp, userAgent })
        return {}
      },
    )

    http.post(
      '/self/update/verify/:token',
      {
        config: { public: true },
        schema: {
          operationId: 'confirmSelfEmail',
          tags,
          security: [],
          params: EmailParams,
          response: { 200: Empty },
        },
      },
      async ({ params, ip, headers }) => {
        await confirmEmail(ctx, parts, { token: params.token, caller: null, ...requesterOf({ ip, headers }) })
        return {}
      },
    )
  }
}
