import { sql } from 'kysely'
import type { OrgScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists.ts'
import { sizesOf } from '../../http/store-bounds.ts'
import { pageOf } from '../../http/store-pages.ts'
import { type Reader, type Tx, countRows, json } from '../../platform/db.ts'
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

export async function lockSso(tx: Tx, scope: OrgScope, id: string): Promise<Sso> {
  const row = await selectSso(tx, scope, id).forUpdate().executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

function selectSso(reader: Reader, scope: OrgScope, id: string) {
  return reader.selectFrom('sso').selectAll().where('orgId', '=', scope.orgId).where('id', '=', id)
}

/** As it is now, and it stays until `tx` ends; undefined once it is gone. */
export async function holdSso(tx: Tx, { orgId, id }: Pick<Sso, 'orgId' | 'id'>): Promise<Sso | undefined> {
  return tx.selectFrom('sso').selectAll().where('orgId', '=', orgId).where('id', '=', id).forShare().executeTakeFirst()
}

/** By the name in its addresses, which its identity provider knows. */
export async function findSsoByDomain(reader: Reader, domain: string): Promise<Sso | undefined> {
  return reader.selectFrom('sso').selectAll().where('domain', '=', domain).executeTakeFirst()
}

export async function findSsoById(reader: Reader, id: string): Promise<Sso | undefined> {
  return reader.selectFrom('sso').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The SSO that opened the session. */
export async function findSsoOfSession(reader: Reader, idHash: Buffer): Promise<Sso | undefined> {
  return reader
    .selectFrom('session')
    .innerJoin('sso', 'sso.id', 'session.ssoId')
    .selectAll('sso')
    .where('session.idHash', '=', idHash)
    .executeTakeFirst()
}

export async function insertSso(tx: Tx, sso: Sso): Promise<void> {
  await tx
    .insertInto('sso')
    .values({ ...sso, doc: json(sso.doc) })
    .execute()
}

export async function updateSsoRow(tx: Tx, { orgId, id, doc, modifiedAt }: Sso): Promise<void> {
  await tx
    .updateTable('sso')
    .set({ doc: json(doc), modifiedAt })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
}

/** With its failures. */
export async function deleteSsoRow(tx: Tx, { orgId, id }: Pick<Sso, 'orgId' | 'id'>): Promise<void> {
  await tx.deleteFrom('sso').where('orgId', '=', orgId).where('id', '=', id).execute()
}
