import type { AdminScope } from '../../access/scope.ts'
import type { Tx } from '../../platform/db.ts'
import { deleteIdentities } from '../oauth/store.ts'
import { deleteSessionsOfAdmin } from '../sessions/store.ts'
import { deleteMailedTokens } from '../store-mailed-token.ts'
import { type NamedToken, type OrgToken, deleteTokensOfAdmin, listOrgTokensMadeBy } from '../tokens/store-access.ts'

/** What could act as an account, or let somebody into it, until its password was changed. */
export interface RevokedAccess {
  readonly sessions: number
  readonly tokens: readonly NamedToken[]
  /** Names of the OAuth providers that were linked. */
  readonly providers: readonly string[]
  /** Tokens of organizations that the account has made. They are not its own, and go on. */
  readonly orgTokens: readonly OrgToken[]
}

/**
 * With the password everything ends that somebody may have got or left by the old one: sessions, API tokens, linked
 * identities, and mailed links to recover the account or to change its address. The caller has locked the account.
 *
 * @param keptSession That in which the owner has just proved the old password; null: none.
 */
export async function revokeAccess(tx: Tx, scope: AdminScope, keptSession: Buffer | null): Promise<RevokedAccess> {
  await deleteMailedTokens(tx, scope, 'recover')
  await deleteMailedTokens(tx, scope, 'change_email')
  return {
    sessions: await deleteSessionsOfAdmin(tx, scope, keptSession),
    tokens: await deleteTokensOfAdmin(tx, scope),
    providers: await deleteIdentities(tx, scope),
    orgTokens: await listOrgTokensMadeBy(tx, scope),
  }
}

/** As the audit log shows it. */
export function auditDocumentOfRevoked({ sessions, tokens, providers }: RevokedAccess): Record<string, unknown> {
  return { sessions, api_tokens: tokens.map(({ name }) => name), oauth_providers: providers }
}
