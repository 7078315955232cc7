import type { Context } from '../../platform/context.ts'
import type { AccountSettings } from '../parts.ts'
import { identityProviderOf, samlUrls } from './sso.ts'
import { findSsoById } from './store.ts'

/**
 * Finds the URL at which people of a mail domain sign in; null for most domains. Only the operator maps domains: if
 * organizations could claim them, they would receive other people's logins. The reply reveals nothing about the part
 * before the `@`.
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
