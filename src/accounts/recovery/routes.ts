import { nobody } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { requesterOf } from '../../http/connections/requester.ts'
import { Empty } from '../../http/schemas.ts'
import { limitConcurrency } from '../../platform/queues/limit-concurrency.ts'
import type { AccountParts, LoginGuard } from '../parts.ts'
import { setDeviceCookie, setSessionCookies } from '../sessions/cookies.ts'
import { LoginReply, presentLogin } from '../sessions/wire.ts'
import { MailedToken } from '../wire-proof.ts'
import { recover, recoveriesAtOnce } from './recover.ts'
import { resetPassword } from './reset-password.ts'
import { RecoverBody, ResetBody, parseRecovery } from './wire.ts'

const tag = 'Accounts'

/** Recovery of a forgotten password. Source: contract, POST /recover. */
export function recoveryOperations(parts: AccountParts, { throttle }: LoginGuard): Operation[] {
  const limited = limitConcurrency(recoveriesAtOnce)
  return [
    operation({
      id: 'recoverPassword',
      summary: 'Ask for a mail that resets the password',
      method: 'POST',
      tag,
      at: nobody('/recover'),
      body: RecoverBody,
      reply: Empty,
      run: (ctx, { body, request }) => recover(ctx, { ...parts, throttle, limited }, parseRecovery(body, request.ip)),
    }),
    operation({
      id: 'verifyRecoverPassword',
      summary: 'Set a new password with the token of the mail',
      method: 'POST',
      tag,
      at: nobody('/recover/verify/:token'),
      params: { token: MailedToken },
      body: ResetBody,
      reply: LoginReply,
      run: async (ctx, { params, body, request, reply }) => {
        const reset = { token: params.token, password: body.password, actor: requesterOf(request) }
        const loggedIn = await resetPassword(ctx, { ...parts, throttle }, reset)
        setSessionCookies(ctx, reply, loggedIn.opened)
        setDeviceCookie(ctx, reply, loggedIn.email)
        return presentLogin(loggedIn)
      },
    }),
  ].flat()
}
