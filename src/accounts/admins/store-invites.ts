import { type RawBuilder, sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, type Tx, countRows } from '../../platform/database/db.ts'
import { documentText } from '../../platform/sealing/document-column.ts'
import { notFound } from '../../platform/errors.ts'
import type { Invite } from '../tables.ts'

/**
 * Finds the organization of the invitation with the token.
 *
 * @unscoped The token is the proof.
 */
export async function findOrgOfInvite(tx: Tx, tokenHash: Buffer): Promise<string | undefined> {
  const row = await tx.selectFrom('invite').select('orgId').where('tokenHash', '=', tokenHash).executeTakeFirst()
  return row?.orgId
}

/** Finds the invitation with the token, and locks it so that it is accepted only once. Lock the organization first. */
export async function lockInviteByToken(tx: Tx, { orgId }: OrgScope, tokenHash: Buffer): Promise<Invite | undefined> {
  const hits = tx.selectFrom('invite').selectAll().where('orgId', '=', orgId).where('tokenHash', '=', tokenHash)
  return hits.forUpdate().executeTakeFirst()
}

/** Finds the invitation of an address, and locks it. Lock the organization first if `tx` locks it at all. */
export async function lockInviteOf(tx: Tx, { orgId }: InOrg, email: string): Promise<Invite | undefined> {
  const hits = tx.selectFrom('invite').selectAll().where('orgId', '=', orgId).where('email', '=', email)
  return hits.forUpdate().executeTakeFirst()
}

/** @throws AppError not_found. */
export async function getInvite(reader: Reader, scope: OrgScope, id: string): Promise<Invite> {
  const row = await selectInvite(reader, scope, id).executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

/** Does the same as getInvite(), and locks the invitation until `tx` ends; see lockInviteOf(). */
export async function lockInvite(tx: Tx, scope: OrgScope, id: string): Promise<Invite> {
  const row = await selectInvite(tx, scope, id).forUpdate().executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

function selectInvite(reader: Reader, { orgId }: OrgScope, id: string) {
  return reader.selectFrom('invite').selectAll().where('orgId', '=', orgId).where('id', '=', id)
}

export async function listInvites(reader: Reader, scope: OrgScope, page: Page): Promise<Paged<Invite>> {
  const hits = reader.selectFrom('invite').selectAll().where('orgId', '=', scope.orgId)
  return pageOf<Invite>(reader, { hits, sizes: sizesOf(inviteBytes(scope)) }, page)
}

/** Each privilege is answered with the organization's id and, twice, its name. */
function inviteBytes({ orgId }: OrgScope): RawBuilder<unknown> {
  return sql`(octet_length(hit.doc::text) + jsonb_array_length(hit.doc -> 'privileges')
    * (select 100 + 2 * octet_length(org.name) from org where org.id = ${orgId}))`
}

export function countInvites(reader: Reader, scope: InOrg): Promise<number> {
  return countRows(reader.selectFrom('invite').where('orgId', '=', scope.orgId))
}

export async function insertInvite(tx: Tx, { orgId }: InOrg, invite: Omit<Invite, 'orgId'>): Promise<void> {
  await tx
    .insertInto('invite')
    .values({ ...invite, orgId, doc: documentText(invite.doc) })
    .execute()
}

/** Updates every column except the keys and the time of creation. */
export async function updateInviteRow(tx: Tx, scope: InOrg, invite: Invite): Promise<void> {
  const { orgId: _, id, createdAt: __, doc, ...changed } = invite
  await tx
    .updateTable('invite')
    .set({ ...changed, doc: documentText(doc) })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
}

export async function deleteInviteRow(tx: Tx, { orgId }: OrgScope, id: string): Promise<void> {
  await tx.deleteFrom('invite').where('orgId', '=', orgId).where('id', '=', id).execute()
}

/** @unscoped A chore, for all organizations. */
export async function deleteInvitesExpiredBefore(tx: Tx, expiredBefore: Date): Promise<void> {
  await tx.deleteFrom('invite').where('expiresAt', '<', expiredBefore).execute()
}
