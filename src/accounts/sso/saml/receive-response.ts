import { type Actor, systemScope } from '../../../access/scope.ts'
import { lockAdditions } from '../../../orgs/store.ts'
import type { Context } from '../../../platform/context.ts'
import { type Tx, inTx } from '../../../platform/database/db.ts'
import { notFound } from '../../../platform/errors.ts'
import { equalText, sha256 } from '../../../platform/secrets.ts'
import type { AccountSettings } from '../../parts.ts'
import type { OpenedSession } from '../../sessions/open-session.ts'
import { isTrustedUrl } from '../../trusted-url.ts'
import type { Assertion } from './assertion.ts'
import { decideAssertion } from './decide-assertion.ts'
import { loginBySso } from '../login-by-sso.ts'
import { verifyResponse } from './verify-message.ts'
import { recordFailure } from '../record-failure.ts'
import { SsoRefusal } from '../refusal.ts'
import { createSamlClient } from './saml-client.ts'
import { type Sso, identityProviderOf, samlUrls } from '../sso.ts'
import { findSsoByDomain, shareSso } from '../store.ts'
import { insertUsedMessage, consumeRequest } from './store-saml.ts'

export interface ResponseRequest {
  readonly domain: string
  /** The message in base64, as received. */
  readonly encoded: string
  /** The cookie given to startLogin(); null if the browser has none. */
  readonly cookie: string | null
  readonly from: Pick<Actor, 'srcIp' | 'userAgent'>
}

export interface SignedIn {
  readonly opened: OpenedSession
  /** True if the second factor must still be given. */
  readonly secondFactorMissing: boolean
  /** The browser's next URL; null if there is none. */
  readonly forward: string | null
}

/**
 * Signs in the person whom a response names. Each response works once. A refusal is recorded for the organization.
 *
 * @throws AppError not_found for an unknown SSO; SsoRefusal, whose reason must not reach the sender.
 */
export async function receiveResponse(
  ctx: Context,
  settings: AccountSettings,
  request: ResponseRequest,
): Promise<SignedIn> {
  const sso = await findSsoByDomain(ctx.db, request.domain)
  if (sso === undefined) throw notFound(request.domain)
  try {
    const assertion = await readAssertion(ctx, sso, request.encoded)
    const outcome = await inTx(ctx, (tx) => acceptAssertion(ctx, tx, { sso, assertion, request }))
    // Throw after the commit: the request counts as answered, and the assertion as used, in any case.
    if (outcome.kind === 'refuse') throw new SsoRefusal(outcome.why)
    const { forward } = outcome
    // The settings may have changed since the login began.
    const allowed = forward !== null && isTrustedUrl(forward, ctx.baseUrl, settings)
    return { ...outcome, forward: allowed ? forward : null }
  } catch (error) {
    if (error instanceof SsoRefusal) await recordFailure(ctx, sso, { why: error.message, ...request })
    throw error
  }
}

async function readAssertion(ctx: Context, sso: Sso, encoded: string): Promise<Assertion> {
  const saml = await createSamlClient(ctx, sso)
  const { acsUrl: destination } = samlUrls(ctx.baseUrl, sso.domain)
  return verifyResponse({ encoded, destination, saml, weakest: sso.doc.idp_sign_algo })
}

type Outcome = { readonly kind: 'refuse'; readonly why: string } | (SignedIn & { readonly kind: 'signed_in' })

async function acceptAssertion(
  ctx: Context,
  tx: Tx,
  accept: { readonly sso: Sso; readonly assertion: Assertion; readonly request: ResponseRequest },
): Promise<Outcome> {
  const { assertion, request } = accept
  const now = ctx.clock.now()
  const scope = systemScope('accounts', accept.sso.orgId)
  // All changes of privileges lock the organization first, to prevent deadlocks.
  await lockAdditions(tx, scope)
  // An SSO that is being deleted admits no sign-in.
  const sso = await shareSso(tx, scope, accept.sso.id)
  if (sso === undefined) return refuse('The SSO has been deleted')
  const issuer = identityProviderOf(sso)?.issuer ?? ''
  const decision = decideAssertion(assertion, { issuer, ...samlUrls(ctx.baseUrl, sso.domain), now })
  if (decision.kind === 'refuse') return decision
  const answered = await consumeRequest(tx, scope, { id: decision.requestId, ssoId: sso.id })
  const used = { ssoId: sso.id, assertionId: assertion.id, expiresAt: decision.usableUntil }
  if (!(await insertUsedMessage(tx, scope, used))) return refuse('The assertion has been used before')
  if (answered === undefined)
    return refuse('The assertion answers no request of this SSO, or one that has been answered')
  if (answered.expiresAt <= now) return refuse('The request that it answers is too old')
  const { cookie } = request
  if (cookie === null || !equalText(answered.boundHash.toString('hex'), sha256(cookie).toString('hex')))
    return refuse('Another browser made the request that it answers')
  const login = await loginBySso(ctx, tx, {
    sso,
    assertion,
    subject: decision.subject,
    ssoSession: decision.sessionId,
    endsAt: decision.sessionEnd,
    from: request.from,
  })
  return login.kind === 'refuse' ? login : { ...login, forward: answered.forward }
}

function refuse(why: string): Outcome {
  return { kind: 'refuse', why }
}
