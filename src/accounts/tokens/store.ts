import { type Insertable, type RawBuilder, sql } from 'kysely'
import type { AdminScope, InOrg } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, type Tx, countRows, json } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import type { ApiTokenTable, WirePrivilege } from '../../access/tables.ts'
import type { Token } from './token.ts'

/** The owner of tokens: an admin or an organization. */
export type TokenOwner = AdminScope | InOrg

export async function listTokens(reader: Reader, owner: TokenOwner, page: Page): Promise<Paged<Token>> {
  const hits = selectTokens(reader, owner)
  return pageOf<Token>(reader, { hits, sizes: sizesOf(sql`octet_length(hit.privileges::text)`) }, page)
}

export function countTokens(reader: Reader, owner: TokenOwner): Promise<number> {
  return countRows(reader.selectFrom('apiToken').where(isOwnedBy(owner)))
}

/** @throws AppError not_found, also for another owner's token. */
export async function getToken(reader: Reader, owner: TokenOwner, id: string): Promise<Token> {
  const token = await selectTokens(reader, owner).where('apiToken.id', '=', id).executeTakeFirst()
  if (token === undefined) throw notFound(id)
  return token
}

/** Does the same as getToken(), and locks the token until `tx` ends. Lock the organization first if `tx` locks it at all. */
export async function lockToken(tx: Tx, owner: TokenOwner, id: string): Promise<Token> {
  const token = await selectTokens(tx, owner).where('apiToken.id', '=', id).forUpdate('apiToken').executeTakeFirst()
  if (token === undefined) throw notFound(id)
  return token
}

interface NewToken extends Pick<Insertable<ApiTokenTable>, 'id' | 'name' | 'keyHash' | 'keyHint'> {
  /** Null for a token of an admin, which has the admin's privileges. */
  readonly privileges: readonly WirePrivilege[] | null
  readonly srcIps: readonly string[] | null
  readonly createdAt: Date
}

export async function insertToken(
  tx: Tx,
  owner: TokenOwner,
  { privileges, srcIps, ...token }: NewToken,
): Promise<void> {
  const owned =
    'orgId' in owner
      ? { orgId: owner.orgId, adminId: null, createdBy: owner.actor.adminId }
      : { orgId: null, adminId: owner.adminId, createdBy: owner.adminId }
  await tx
    .insertInto('apiToken')
    .values({
      ...token,
      ...owned,
      srcIps: srcIps && [...srcIps],
      privileges: privileges && json(privileges),
      lastUsedAt: null,
    })
    .execute()
}

export interface TokenChange {
  readonly id: string
  readonly name: string
  readonly privileges: readonly WirePrivilege[] | null
  readonly srcIps: readonly string[] | null
}

export async function updateToken(tx: Tx, owner: TokenOwner, change: TokenChange): Promise<void> {
  const { id, name, privileges, srcIps } = change
  await tx
    .updateTable('apiToken')
    .set({ name, privileges: privileges && json(privileges), srcIps: srcIps && [...srcIps] })
    .where(isOwnedBy(owner))
    .where('id', '=', id)
    .execute()
}

export async function deleteToken(tx: Tx, owner: TokenOwner, id: string): Promise<void> {
  await tx.deleteFrom('apiToken').where(isOwnedBy(owner)).where('id', '=', id).execute()
}

/** Deletes the tokens of the organization that the admin has created. @returns Them, by name. */
export async function deleteTokensCreatedBy(
  tx: Tx,
  { orgId }: InOrg,
  adminId: string,
): Promise<Pick<Token, 'id' | 'name' | 'privileges' | 'srcIps'>[]> {
  const deleted = await tx
    .deleteFrom('apiToken')
    .where('orgId', '=', orgId)
    .where('createdBy', '=', adminId)
    .returning(['id', 'name', 'privileges', 'srcIps'])
    .execute()
  return deleted.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/**
 * Deletes tokens that were last used before `before`, at most `limit`.
 *
 * @unscoped A chore, for all owners.
 */
export async function deleteIdleTokens(
  tx: Tx,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<Omit<Token, 'creatorEmail'>[]> {
  const idle = await tx
    .selectFrom('apiToken')
    .select('id')
    .where((eb) => eb(eb.fn.coalesce('lastUsedAt', 'createdAt'), '<', before))
    .orderBy('id')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute()
  if (idle.length === 0) return []
  return tx
    .deleteFrom('apiToken')
    .where(
      'id',
      'in',
      idle.map(({ id }) => id),
    )
    .returningAll()
    .execute()
}

function selectTokens(reader: Reader, owner: TokenOwner) {
  return reader
    .selectFrom('apiToken')
    .where(isOwnedBy(owner))
    .leftJoin('admin', 'admin.id', 'apiToken.createdBy')
    .selectAll('apiToken')
    .select('admin.email as creatorEmail')
}

function isOwnedBy(owner: TokenOwner): RawBuilder<boolean> {
  return 'orgId' in owner ? sql`api_token.org_id = ${owner.orgId}` : sql`api_token.admin_id = ${owner.adminId}`
}
