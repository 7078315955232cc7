import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { toBuffer } from 'qrcode'
import type { Caller } from '../../access/authorize.ts'
import { Empty } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import type { LoginGuard } from '../parts.ts'
import { type Person, requirePerson } from '../self/person.ts'
import { setSessionCookies } from '../sessions/cookies.ts'
import { sessionOf } from '../sessions/open-session.ts'
import { disableSecondFactor, renewRecoveryCodes } from './disable.ts'
import { enableSecondFactor } from './enable.ts'
import { offerSecret } from './offer-secret.ts'
import { ChangeBody, RecoveryCodesReply, TokenQuery, TokenReply, VerifyBody } from './wire.ts'

const tags = ['Accounts']

/** Second factor of the caller. Source: contract, "Login, cookies, second factor"; the last two are our own. */
export function secondFactorRoutes(ctx: Context, guard: LoginGuard): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/self/two_factor/token',
      {
        // Open to those whose organization asks for a second factor that they don't have yet.
        config: { beforeSecondFactor: true },
        schema: {
          operationId: 'generateSecretFor2faVerification',
          tags,
          querystring: TokenQuery,
          response: { 200: TokenReply },
        },
      },
      async ({ caller, query }, reply) => {
        const { secret, uri } = await offerSecret(ctx, requireEnrolling(caller))
        void reply.header('cache-control', 'no-store')
        if (query.by === undefined) return { two_factor_secret: secret }
        const image = await toBuffer(uri, { type: 'png', errorCorrectionLevel: 'M', margin: 2, scale: 6 })
        return reply.type('image/png').send(image)
      },
    )

    http.post(
      '/self/two_factor/verify',
      {
        config: { beforeSecondFactor: true },
        schema: { operationId: 'verifyTwoFactor', tags, body: VerifyBody, response: { 200: RecoveryCodesReply } },
      },
      async ({ caller, body, cookies }, reply) => {
        const request = { caller: requireEnrolling(caller), code: body.two_factor, password: body.password }
        const { recoveryCodes, expiresAt } = await enableSecondFactor(ctx, guard, request)
        const sessionId = cookies['sessionid']
        if (caller.principal.via === 'session' && sessionId !== undefined)
          setSessionCookies(ctx, reply, sessionOf(ctx, sessionId, expiresAt))
        return { recovery_codes: [...recoveryCodes] }
      },
    )

    http.post(
      '/self/two_factor/disable',
      { schema: { operationId: 'disableTwoFactor', tags, body: ChangeBody, response: { 200: Empty } } },
      async ({ caller, body }) => {
        const change = { caller: requirePerson(caller), password: body.password, code: body.two_factor }
        await disableSecondFactor(ctx, guard, change)
        return {}
      },
    )

    http.post(
      '/self/two_factor/recovery_codes',
      { schema: { operationId: 'renewRecoveryCodes', tags, body: ChangeBody, response: { 200: RecoveryCodesReply } } },
      async ({ caller, body }) => {
        const change = { caller: requirePerson(caller), password: body.password, code: body.two_factor }
        return { recovery_codes: [...(await renewRecoveryCodes(ctx, guard, change))] }
      },
    )
  }
}

/** A half session may enrol a second factor where there is none, and never replace the one it lacks. */
function requireEnrolling(caller: Caller): Person {
  const { secondFactor, hasSecondFactor } = caller.principal
  if (secondFactor === 'missing' && hasSecondFactor)
    throw new AppError('unauthenticated', 'Two factor authentication is required.')
  return requirePerson(caller)
}
