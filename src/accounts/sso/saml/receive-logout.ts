import { type Actor, systemScope } from '../../../access/scope.ts'
import { addMs } from '../../../platform/time/clock.ts'
import type { Context } from '../../../platform/context.ts'
import { type Tx, inTx } from '../../../platform/database/db.ts'
import { notFound } from '../../../platform/errors.ts'
import { appendAccountChange } from '../../account-log.ts'
import { parseInstant } from './decide-assertion.ts'
import { type LogoutRequest, verifyLogoutRequest } from './verify-message.ts'
import { recordFailure } from '../record-failure.ts'
import { SsoRefusal } from '../refusal.ts'
import { createSamlClient } from './saml-client.ts'
import { type Sso, samlUrls } from '../sso.ts'
import { findSsoByDomain, shareSso } from '../store.ts'
import { deleteSsoSessions, findSsoAdmin, insertUsedMessage } from './store-saml.ts'

/** An older request is refused. Requests are remembered for this long. */
const MAX_AGE_MS = 5 * 60_000

export interface LogoutMessage {
  readonly domain: string
  /** The message in base64, as received. */
  readonly encoded: string
  readonly from: Pick<Actor, 'srcIp' | 'userAgent'>
}

/**
 * Ends the sessions that an identity provider requests to end, of those that it opened.
 *
 * @throws AppError not_found for an unknown SSO; SsoRefusal.
 */
export async function receiveLogout(ctx: Context, message: LogoutMessage): Promise<void> {
  const sso = await findSsoByDomain(ctx.db, message.domain)
  if (sso === undefined) throw notFound(message.domain)
  try {
    const request = await verifyLogoutRequest({
      encoded: message.encoded,
      destination: samlUrls(ctx.baseUrl, sso.domain).logoutUrl,
      saml: await createSamlClient(ctx, sso),
      weakest: sso.doc.idp_sign_algo,
    })
    await inTx(ctx, (tx) => endSessions(ctx, tx, { sso, request, from: message.from }))
  } catch (error) {
    if (error instanceof SsoRefusal) await recordFailure(ctx, sso, { why: error.message, ...message })
    throw error
  }
}

async function endSessions(
  ctx: Context,
  tx: Tx,
  { sso, request, from }: { readonly sso: Sso; readonly request: LogoutRequest; readonly from: LogoutMessage['from'] },
): Promise<void> {
  const at = ctx.clock.now()
  const scope = systemScope('accounts', sso.orgId)
  // Deleting an SSO deletes its accounts and their sessions.
  if ((await shareSso(tx, scope, sso.id)) === undefined) return
  if (request.issuer !== sso.doc.issuer)
    throw new SsoRefusal(`The issuer is ${request.issuer}, not ${sso.doc.issuer ?? 'set'}`)
  const issued = parseInstant(request.issueInstant)
  if (issued === null || Math.abs(at.getTime() - issued.getTime()) > MAX_AGE_MS)
    throw new SsoRefusal('The logout request was not issued within five minutes of now')
  const used = { ssoId: sso.id, assertionId: request.id, expiresAt: addMs(at, 2 * MAX_AGE_MS) }
  if (!(await insertUsedMessage(tx, scope, used))) throw new SsoRefusal('The logout request has been used before')
  const admin = await findSsoAdmin(tx, scope, { ssoId: sso.id, subject: request.subject })
  if (admin === undefined) return
  await deleteSsoSessions(tx, scope, { ssoId: sso.id, adminId: admin.id, ssoSessions: request.sessionIds })
  const actor: Actor = { adminId: admin.id, name: admin.email, ...from }
  await appendAccountChange(tx, { adminId: admin.id, actor, message: 'Logout by single sign-on', at })
}
