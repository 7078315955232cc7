import type { Reader } from '../../platform/db.ts'
import type { OauthProvider } from '../parts.ts'
import { listLinkedProviders } from './store.ts'

/**
 * `oauth_<provider>` of the account record: one for every configured provider, whether it is linked.
 * Source: spec, "OAuth link objects".
 */
export async function listOauthFlags(
  reader: Reader,
  adminId: string,
  providers: readonly OauthProvider[],
): Promise<Record<string, boolean>> {
  if (providers.length === 0) return {}
  const linked = await listLinkedProviders(reader, adminId)
  return Object.fromEntries(providers.map(({ name }) => [`oauth_${name}`, linked.includes(name)]))
}
