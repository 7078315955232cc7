import type { Context } from '../../platform/context.ts'
import type { AccountSettings } from '../parts.ts'
import { identityProviderOf, samlUrls } from './sso.ts'
import { findSsoById } from './store.ts'

/**
 * Where people with addresses of this mail domain sign in; null for most domains. Only the operator
 * maps domains: an organization that could claim one would be handed other people's logins. It tells
 * nothing of the address before the `@`.
 */
export async function findSsoUrl(
  ctx: Context,
  { ssoDomains }: Pick<AccountSettings, 'ssoDomains'>,
  email: string,
): Promise<string | null> {
  const domain = email
    .slice(email.lastIndexOf('@') + 1)
    .trim()
    .toLowerCase()
  const id = ssoDomains.get(domain)
  const sso = id === undefined ? undefined : await findSsoById(ctx.db, id)
  if (sso === undefined || identityProviderOf(sso) === null) return null
  return samlUrls(ctx.baseUrl, sso.domain).loginUrl
}
