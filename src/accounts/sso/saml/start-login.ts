import { randomBytes } from 'node:crypto'
import { systemScope } from '../../../access/scope.ts'
import { addMs } from '../../../platform/time/clock.ts'
import type { Context } from '../../../platform/context.ts'
import { inTx } from '../../../platform/database/db.ts'
import { invalidField, notFound } from '../../../platform/errors.ts'
import { sha256 } from '../../../platform/secrets.ts'
import type { AccountSettings } from '../../parts.ts'
import { isTrustedUrl } from '../../trusted-url.ts'
import { createSamlClient } from './saml-client.ts'
import { findSsoByDomain, shareSso } from '../store.ts'
import { deleteExpiredMessages, insertRequest } from './store-saml.ts'

/** The time to sign in at the identity provider. */
export const REQUEST_MS = 15 * 60_000

export interface LoginStart {
  readonly domain: string
  /** The value of the cookie that binds the login to its browser. */
  readonly cookie: string
  /** The browser's URL after the login; null if there is none. */
  readonly forward: string | null
}

/**
 * Returns the URL to which the browser goes to sign in.
 *
 * @throws AppError not_found for an unknown SSO, invalid for a `forward` that is not allowed; SsoRefusal for an SSO
 *   that has not been set up.
 */
export async function startLogin(
  ctx: Context,
  settings: AccountSettings,
  { domain, cookie, forward }: LoginStart,
): Promise<string> {
  const sso = await findSsoByDomain(ctx.db, domain)
  if (sso === undefined) throw notFound(domain)
  if (forward !== null && !isTrustedUrl(forward, ctx.baseUrl, settings))
    throw invalidField('forward', 'must be a URL of an origin that is allowed')
  // An XML id must not begin with a digit.
  const id = `_${randomBytes(20).toString('hex')}`
  const saml = await createSamlClient(ctx, sso, id)
  const address = await saml.getAuthorizeUrlAsync('', undefined, {})
  const now = ctx.clock.now()
  const scope = systemScope('accounts', sso.orgId)
  await inTx(ctx, async (tx) => {
    // It may have been deleted since the lookup.
    if ((await shareSso(tx, scope, sso.id)) === undefined) throw notFound(domain)
    await deleteExpiredMessages(tx, now)
    const expiresAt = addMs(now, REQUEST_MS)
    await insertRequest(tx, scope, { id, ssoId: sso.id, boundHash: sha256(cookie), forward, expiresAt })
  })
  return address
}

export function generateFlowCookie(): string {
  return randomBytes(32).toString('base64url')
}

/** Only such a value binds to one browser: an empty cookie, for example, could come from any browser. */
export function isFlowCookie(value: string): boolean {
  return /^[\w-]{43}$/.test(value)
}
