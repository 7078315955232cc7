import { type Insertable, type SelectQueryBuilder, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists.ts'
import { sizesOf } from '../../http/store-bounds.ts'
import { pageOf } from '../../http/store-pages.ts'
import { type Reader, type Tx, countRows, json } from '../../platform/db.ts'
import { notFound } from '../../platform/errors.ts'
import type { ApiTokenTable } from '../../access/tables.ts'
import type { WirePrivilege } from '../../access/tables.ts'
import type { Schema } from '../../platform/schema.ts'
import type { Token } from './token.ts'

/** Whose tokens: one admin's, or one organization's own. */
export type TokenOwner = { readonly adminId: string } | InOrg

export async function listTokens(reader: Reader, owner: TokenOwner, page: Page): Promise<Paged<Token>> {
  const hits = selectTokens(reader, owner)
  return pageOf<Token>(reader, { hits, sizes: sizesOf(sql`octet_length(hit.privileges::text)`) }, page)
}

export function countTokens(reader: Reader, owner: TokenOwner): Promise<number> {
  return countRows(ownedBy(reader.selectFrom('apiToken'), owner))
}

/** @throws AppError not_found, for somebody else's too. */
export async function getToken(reader: Reader, owner: TokenOwner, id: string): Promise<Token> {
  const token = await selectTokens(reader, owner).where('apiToken.id', '=', id).executeTakeFirst()
  if (token === undefined) throw notFound(id)
  return token
}

/** As getToken, locked against other changes until `tx` ends. */
export async function lockToken(tx: Tx, owner: TokenOwner, id: string): Promise<Token> {
  const token = await selectTokens(tx, owner).where('apiToken.id', '=', id).forUpdate('apiToken').executeTakeFirst()
  if (token === undefined) throw notFound(id)
  return token
}

type NewToken = Pick<
  Insertable<ApiTokenTable>,
  'id' | 'adminId' | 'orgId' | 'srcIps' | 'createdBy' | 'name' | 'keyHash' | 'keyHint'
> & { readonly privileges: readonly WirePrivilege[] | null; readonly createdAt: Date }

export async function insertToken(tx: Tx, { privileges, ...token }: NewToken): Promise<void> {
  await tx
    .insertInto('apiToken')
    .values({ ...token, privileges: privileges && json(privileges), lastUsedAt: null })
    .execute()
}

export interface TokenChange {
  readonly name: string
  readonly privileges: readonly WirePrivilege[] | null
}

/** The token must be locked by the caller. */
export async function updateToken(tx: Tx, id: string, { name, privileges }: TokenChange): Promise<void> {
  await tx
    .updateTable('apiToken')
    .set({ name, privileges: privileges && json(privileges) })
    .where('id', '=', id)
    .execute()
}

/** The token must be locked by the caller. */
export async function deleteToken(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('apiToken').where('id', '=', id).execute()
}

/** Removes tokens that were last used before `before`, at most `limit`. */
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
  return ownedBy(reader.selectFrom('apiToken'), owner)
    .leftJoin('admin', 'admin.id', 'apiToken.createdBy')
    .selectAll('apiToken')
    .select('admin.email as creatorEmail')
}

function ownedBy<T>(query: SelectQueryBuilder<Schema, 'apiToken', T>, owner: TokenOwner) {
  return 'orgId' in owner
    ? query.where('apiToken.orgId', '=', owner.orgId)
    : query.where('apiToken.adminId', '=', owner.adminId)
}
