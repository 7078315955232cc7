import { type Selectable, sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, type Tx, countRows } from '../../platform/database/db.ts'
import { documentText } from '../../platform/sealing/document-column.ts'
import { notFound } from '../../platform/errors.ts'
import type { MxclusterTable } from '../tables.ts'
import type { Document } from '../../platform/json/document.ts'

export type Cluster = Selectable<MxclusterTable>

/** Lists clusters, oldest first. */
export function listClusters(reader: Reader, scope: InOrg, page: Page): Promise<Paged<Cluster>> {
  const hits = selectClusters(reader, scope)
  return pageOf<Cluster>(reader, { hits, sizes: sizesOf(sql`octet_length(hit.doc::text)`) }, page)
}

function selectClusters(reader: Reader, scope: InOrg) {
  return reader.selectFrom('mxcluster').selectAll().where('orgId', '=', scope.orgId)
}

export async function getCluster(reader: Reader, scope: InOrg, id: string): Promise<Cluster> {
  const cluster = await selectClusters(reader, scope).where('id', '=', id).executeTakeFirst()
  if (cluster === undefined) throw notFound(id)
  return cluster
}

/** Returns the cluster, locked against other changes until `tx` ends. */
export async function lockCluster(tx: Tx, scope: OrgScope, id: string): Promise<Cluster> {
  const cluster = await selectClusters(tx, scope).where('id', '=', id).forUpdate().executeTakeFirst()
  if (cluster === undefined) throw notFound(id)
  return cluster
}

/** True if the organization has the cluster, which then can't be deleted until `tx` ends. */
export async function shareCluster(tx: Tx, scope: InOrg, id: string): Promise<boolean> {
  const row = await selectClusters(tx, scope).where('id', '=', id).forKeyShare().executeTakeFirst()
  return row !== undefined
}

/** Needs lockCluster() in the same transaction, so that no member joins concurrently. */
export function countMembers(tx: Tx, scope: OrgScope, id: string): Promise<number> {
  return countRows(tx.selectFrom('mxedge').where('orgId', '=', scope.orgId).where('mxclusterId', '=', id))
}

interface NewContent {
  readonly id: string
  readonly doc: Document
  readonly at: Date
}

export function insertCluster(tx: Tx, scope: OrgScope, { id, doc, at }: NewContent): Promise<Cluster> {
  return tx
    .insertInto('mxcluster')
    .values({ orgId: scope.orgId, id, doc: documentText(doc), createdAt: at, modifiedAt: at })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export function updateClusterRow(tx: Tx, scope: OrgScope, { id, doc, at }: NewContent): Promise<Cluster> {
  return tx
    .updateTable('mxcluster')
    .set({ doc: documentText(doc), modifiedAt: at })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deleteClusterRow(tx: Tx, scope: OrgScope, id: string): Promise<void> {
  await tx.deleteFrom('mxcluster').where('orgId', '=', scope.orgId).where('id', '=', id).execute()
}
