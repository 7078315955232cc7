import type { AdminScope } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { deleteIdentities } from '../oauth/store.ts'
import { deleteSessionsOfAdmin } from '../sessions/store.ts'
import { deleteMailedTokens } from '../mail/store-mailed-token.ts'
import { type NamedToken, type OrgToken, deleteTokensOfAdmin, listOrgTokensMadeBy } from '../tokens/store-access.ts'

/** Credentials and links that could act as an account, or give access to it, before its password was changed. */
export interface RevokedAccess {
  readonly sessions: number
  readonly tokens: readonly NamedToken[]
  /** The names of the OAuth providers that were linked. */
  readonly providers: readonly string[]
  /** Tokens of organizations that the admin has created. They belong to the organizations and continue to work. */
  readonly orgTokens: readonly OrgToken[]
}

/**
 * Revokes all access that someone may have gained or left behind with the old password: sessions, API tokens, linked
 * identities, and mailed links that recover the account or change its address. The caller has locked the account.
 *
 * @param keptSession The session in which the owner has just proved the old password; null revokes all sessions.
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

/** The revoked access as the audit log shows it. */
export function auditDocumentOfRevoked({ sessions, tokens, providers }: RevokedAccess): Record<string, unknown> {
  return { sessions, api_tokens: tokens.map(({ name }) => name), oauth_providers: providers }
}
