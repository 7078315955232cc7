import { sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists.ts'
import { sizesOf } from '../../http/store-bounds.ts'
import { pageOf } from '../../http/store-pages.ts'
import { type Reader, type Tx, countRows, json } from '../../platform/db.ts'
import { notFound } from '../../platform/errors.ts'
import type { Invite } from './invite.ts'

/** The invitation with the token, locked so that it is accepted once. */
export async function lockInviteByToken(tx: Tx, tokenHash: Buffer): Promise<Invite | undefined> {
  return tx.selectFrom('invite').selectAll().where('tokenHash', '=', tokenHash).forUpdate().executeTakeFirst()
}

export async function lockInvite(tx: Tx, scope: OrgScope, id: string): Promise<Invite> {
  const row = await tx
    .selectFrom('invite')
    .selectAll()
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

export async function listInvites(reader: Reader, scope: OrgScope, page: Page): Promise<Paged<Invite>> {
  const hits = reader.selectFrom('invite').selectAll().where('orgId', '=', scope.orgId)
  return pageOf<Invite>(reader, { hits, sizes: sizesOf(sql`octet_length(hit.doc::text)`) }, page)
}

export function countInvites(reader: Reader, scope: InOrg): Promise<number> {
  return countRows(reader.selectFrom('invite').where('orgId', '=', scope.orgId))
}

export async function insertInvite(tx: Tx, invite: Invite): Promise<void> {
  await tx
    .insertInto('invite')
    .values({ ...invite, doc: json(invite.doc) })
    .execute()
}

/** Writes everything of it but its place and age. */
export async function updateInvite(tx: Tx, { orgId, id, createdAt: _, doc, ...changed }: Invite): Promise<void> {
  await tx
    .updateTable('invite')
    .set({ ...changed, doc: json(doc) })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
}

export async function deleteInvite(tx: Tx, { orgId, id }: Pick<Invite, 'orgId' | 'id'>): Promise<void> {
  await tx.deleteFrom('invite').where('orgId', '=', orgId).where('id', '=', id).execute()
}

export async function deleteInvitesExpiredBefore(tx: Tx, expiredBefore: Date): Promise<void> {
  await tx.deleteFrom('invite').where('expiresAt', '<', expiredBefore).execute()
}
