import { nobody } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { requesterOf } from '../../http/connections/requester.ts'
import { Empty, ErrorReply } from '../../http/schemas.ts'
import type { AccountParts, LoginGuard } from '../parts.ts'
import { setSessionCookies } from '../sessions/cookies.ts'
import { MailedToken } from '../wire-proof.ts'
import { register } from './register.ts'
import { proveRegistered, verifyRegistration } from './verify-registration.ts'
import {
  InfoQuery,
  InfoReply,
  RegisterBody,
  VerifyBody,
  VerifyReply,
  parseRegistration,
  presentInfo,
  presentVerified,
} from './wire.ts'

const tag = 'Accounts'

/** Registration. Source: spec, "Registration", 8; contract, 8b and 8c. */
export function registrationOperations(parts: AccountParts, { throttle }: LoginGuard): Operation[] {
  return [
    operation({
      id: 'getAdminRegistrationInfo',
      summary: 'Get the requirements of a registration',
      method: 'GET',
      tag,
      at: nobody('/register/recaptcha'),
      query: InfoQuery,
      reply: InfoReply,
      run: (_ctx, { query }) => presentInfo(parts.settings.captcha, query),
    }),
    operation({
      id: 'registerNewAdmin',
      summary: 'Register an account',
      method: 'POST',
      tag,
      at: nobody('/register'),
      body: RegisterBody,
      reply: Empty,
      errors: { 403: ErrorReply },
      run: (ctx, { body, request }) =>
        register(ctx, { ...parts, throttle }, { registration: parseRegistration(body), srcIp: request.ip }),
    }),
    operation({
      id: 'verifyRegistration',
      summary: 'Complete a registration with the token of the mail',
      method: 'POST',
      tag,
      at: nobody('/register/verify/:token'),
      params: { token: MailedToken },
      body: VerifyBody,
      reply: VerifyReply,
      run: async (ctx, { params, body, request, reply }) => {
        const { password } = body
        const guard = { passwords: parts.passwords, throttle }
        if (password !== undefined) await proveRegistered(ctx, guard, { token: params.token, password })
        const registration = { token: params.token, from: requesterOf(request) }
        const verified = await verifyRegistration(ctx, parts.settings, registration)
        setSessionCookies(ctx, reply, verified.opened)
        return presentVerified(verified)
      },
    }),
  ].flat()
}
