import { sessionCookieOf } from '../../access/authentication/session-cookie.ts'
import { toBuffer } from 'qrcode'
import type { Caller } from '../../access/authorize.ts'
import { type At, at } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Binary, Empty, ErrorReply } from '../../http/schemas.ts'
import { AppError } from '../../platform/errors.ts'
import type { LoginGuard } from '../parts.ts'
import { type Person, person, requirePerson } from '../self/person.ts'
import { setSessionCookies } from '../sessions/cookies.ts'
import { sessionOf } from '../sessions/open-session.ts'
import { disableSecondFactor, renewRecoveryCodes } from './disable.ts'
import { enableSecondFactor } from './enable.ts'
import { offerSecret } from './offer-secret.ts'
import { ChangeBody, RecoveryCodesReply, TokenQuery, TokenReply, VerifyBody } from './wire.ts'

const tag = 'Accounts'

/**
 * The second factor of the caller. Source: contract, "Login, cookies, second factor"; the last two operations are our
 * own.
 */
export function secondFactorOperations(guard: LoginGuard): Operation[] {
  return [
    operation({
      id: 'generateSecretFor2faVerification',
      summary: 'Get a secret for a second factor, as text or as a QR code',
      method: 'GET',
      tag,
      at: enrolling('/self/two_factor/token'),
      query: TokenQuery,
      reply: TokenReply,
      otherReplies: { 'image/png': Binary },
      run: async (ctx, { scope: caller, query, reply }) => {
        const { secret, uri } = await offerSecret(ctx, caller)
        if (query.by === undefined) return { two_factor_secret: secret }
        void reply.type('image/png')
        return toBuffer(uri, { type: 'png', errorCorrectionLevel: 'M', margin: 2, scale: 6 })
      },
    }),
    operation({
      id: 'verifyTwoFactor',
      summary: 'Enable the second factor with a first code',
      method: 'POST',
      tag,
      at: enrolling('/self/two_factor/verify'),
      body: VerifyBody,
      reply: RecoveryCodesReply,
      run: async (ctx, { scope: caller, body, request: { cookies }, reply }) => {
        const factor = { caller, code: body.two_factor, password: body.password }
        const { recoveryCodes, expiresAt } = await enableSecondFactor(ctx, guard, factor)
        const sessionId = cookies[sessionCookieOf(ctx)]
        if (caller.principal.via === 'session' && sessionId !== undefined)
          setSessionCookies(ctx, reply, sessionOf(ctx, sessionId, expiresAt))
        return { recovery_codes: [...recoveryCodes] }
      },
    }),
    operation({
      id: 'disableTwoFactor',
      summary: 'Disable the second factor',
      method: 'POST',
      tag,
      at: person('/self/two_factor/disable'),
      body: ChangeBody,
      reply: Empty,
      errors: { 404: ErrorReply },
      run: (ctx, { scope: caller, body }) =>
        disableSecondFactor(ctx, guard, { caller, password: body.password, code: body.two_factor }),
    }),
    operation({
      id: 'renewRecoveryCodes',
      summary: 'Renew the recovery codes',
      method: 'POST',
      tag,
      at: person('/self/two_factor/recovery_codes'),
      body: ChangeBody,
      reply: RecoveryCodesReply,
      errors: { 404: ErrorReply },
      run: async (ctx, { scope: caller, body }) => {
        const proofs = { caller, password: body.password, code: body.two_factor }
        return { recovery_codes: [...(await renewRecoveryCodes(ctx, guard, proofs))] }
      },
    }),
  ].flat()
}

/**
 * The place of operations that enroll a second factor. It is open to half sessions too: an organization may require a
 * second factor that the person does not have yet.
 */
function enrolling(path: string): At<Person> {
  return at({ audience: 'person', needs: null, path, params: {}, beforeSecondFactor: true }, (_ctx, caller) =>
    requireEnrolling(caller),
  )
}

/** A half session may enroll a second factor if there is none, but never replace the one that it lacks. */
function requireEnrolling(caller: Caller): Person {
  const { secondFactor, hasSecondFactor } = caller.principal
  if (secondFactor === 'missing' && hasSecondFactor)
    throw new AppError('unauthenticated', 'Two factor authentication is required.')
  return requirePerson(caller)
}
