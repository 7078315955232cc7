import { sql } from 'kysely'
import type { AdminScope, InOrg, OrgScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, type Tx, countRows } from '../../platform/database/db.ts'
import { documentText } from '../../platform/sealing/document-column.ts'
import { notFound } from '../../platform/errors.ts'
import type { Sso } from './sso.ts'

export async function listSsos(reader: Reader, scope: OrgScope, page: Page): Promise<Paged<Sso>> {
  const hits = reader.selectFrom('sso').selectAll().where('orgId', '=', scope.orgId)
  return pageOf<Sso>(reader, { hits, sizes: sizesOf(sql`octet_length(hit.doc::text)`) }, page)
}

export function countSsos(reader: Reader, scope: OrgScope): Promise<number> {
  return countRows(reader.selectFrom('sso').where('orgId', '=', scope.orgId))
}

export async function getSso(reader: Reader, scope: OrgScope, id: string): Promise<Sso> {
  const row = await selectSso(reader, scope, id).executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

/** Lock the organization first. */
export async function lockSso(tx: Tx, scope: OrgScope, id: string): Promise<Sso> {
  const row = await selectSso(tx, scope, id).forUpdate().executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

function selectSso(reader: Reader, scope: InOrg, id: string) {
  return reader.selectFrom('sso').selectAll().where('orgId', '=', scope.orgId).where('id', '=', id)
}

/** Prevents changes and deletion of the SSO until `tx` ends; undefined if it is deleted. */
export async function shareSso(tx: Tx, scope: InOrg, id: string): Promise<Sso | undefined> {
  return selectSso(tx, scope, id).forShare().executeTakeFirst()
}

/**
 * Finds an SSO by the name in its URLs, which its identity provider knows.
 *
 * @unscoped The caller is a browser that is about to sign in; the name identifies the organization.
 */
export async function findSsoByDomain(reader: Reader, domain: string): Promise<Sso | undefined> {
  return reader.selectFrom('sso').selectAll().where('domain', '=', domain).executeTakeFirst()
}

/** @unscoped The operator's settings name the SSO, not the caller. */
export async function findSsoById(reader: Reader, id: string): Promise<Sso | undefined> {
  return reader.selectFrom('sso').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Finds the SSO that opened the session. */
export async function findSsoOfSession(
  reader: Reader,
  { adminId }: AdminScope,
  idHash: Buffer,
): Promise<Sso | undefined> {
  return reader
    .selectFrom('session')
    .innerJoin('sso', 'sso.id', 'session.ssoId')
    .selectAll('sso')
    .where('session.adminId', '=', adminId)
    .where('session.idHash', '=', idHash)
    .executeTakeFirst()
}

export async function insertSso(tx: Tx, { orgId }: OrgScope, sso: Omit<Sso, 'orgId'>): Promise<void> {
  await tx
    .insertInto('sso')
    .values({ ...sso, orgId, doc: documentText(sso.doc) })
    .execute()
}

export async function updateSsoRow(
  tx: Tx,
  { orgId }: OrgScope,
  { id, doc, modifiedAt }: Pick<Sso, 'id' | 'doc' | 'modifiedAt'>,
): Promise<void> {
  await tx
    .updateTable('sso')
    .set({ doc: documentText(doc), modifiedAt })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
}

/** Deletes the SSO with its failures. */
export async function deleteSsoRow(tx: Tx, { orgId }: OrgScope, id: string): Promise<void> {
  await tx.deleteFrom('sso').where('orgId', '=', orgId).where('id', '=', id).execute()
}
