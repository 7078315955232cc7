import { nobody } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { requesterOf } from '../../http/connections/requester.ts'
import { Empty } from '../../http/schemas.ts'
import type { AccountParts, LoginGuard } from '../parts.ts'
import { parseEmail } from '../registration/wire.ts'
import { MailedToken } from '../wire-proof.ts'
import { confirmEmail, requestEmailChange } from './change-email.ts'
import { person } from './person.ts'
import { EmailBody } from './wire.ts'

const tag = 'Accounts'
const params = { token: MailedToken }

/** Changes of the account's address. Source: contract, POST /self/update. */
export function selfEmailOperations(parts: AccountParts, guard: LoginGuard): Operation[] {
  return [
    operation({
      id: 'updateSelfEmail',
      summary: 'Ask for a mail that changes the address of the caller',
      method: 'POST',
      tag,
      at: person('/self/update'),
      body: EmailBody,
      reply: Empty,
      run: async (ctx, { scope: caller, body }) => {
        const change = { caller, email: parseEmail(body.email), password: body.password }
        await requestEmailChange(ctx, { ...parts, ...guard }, change)
      },
    }),
    operation({
      id: 'verifySelfEmail',
      summary: 'Change the address with the token of the mail, signed in',
      // The published interface makes it a GET. It needs the account's own credentials, which a program that merely
      // follows links in mails does not have, and the mail links to a page of ours anyway.
      method: 'GET',
      tag,
      at: person('/self/update/verify/:token'),
      params,
      reply: Empty,
      run: async (ctx, { scope: caller, params }) => {
        const { srcIp, userAgent } = caller
        await confirmEmail(ctx, parts, { token: params.token, caller, srcIp, userAgent })
      },
    }),
    operation({
      id: 'confirmSelfEmail',
      summary: 'Change the address with the token of the mail',
      method: 'POST',
      tag,
      at: nobody('/self/update/verify/:token'),
      params,
      reply: Empty,
      run: (ctx, { params, request }) =>
        confirmEmail(ctx, parts, { token: params.token, caller: null, ...requesterOf(request) }),
    }),
  ].flat()
}
