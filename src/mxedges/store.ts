import { sql } from 'kysely'
import type { InOrg, OrgScope, SitesScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import type { Page, Paged } from '../http/lists.ts'
import { sizesOf } from '../http/store-bounds.ts'
import { pageOf } from '../http/store-pages.ts'
import { type Reader, type Tx, anyOf, json } from '../platform/db.ts'
import { notFound } from '../platform/errors.ts'
import type { Mxedge, MxedgeContent } from './mxedge.ts'

/** Those of the sites that the scope lists, which a scope of one site does too. */
export function selectMxedges(reader: Reader, scope: SitesScope) {
  return reader
    .selectFrom('mxedge')
    .selectAll()
    .where('orgId', '=', scope.orgId)
    .where(inSites(scope, sql.ref('mxedge.site_id')))
}

/**
 * Ordered by id.
 * @param forSite Whether a site has them; null: either.
 */
export function listMxedges(
  reader: Reader,
  scope: SitesScope,
  { forSite, page }: { readonly forSite: boolean | null; readonly page: Page },
): Promise<Paged<Mxedge>> {
  const all = selectMxedges(reader, scope)
  const hits = forSite === null ? all : all.where('siteId', forSite ? 'is not' : 'is', null)
  return pageOf<Mxedge>(reader, hits, page, { sizes: sizesOf(hits, sql`hit.doc_bytes`) })
}

export async function getMxedge(reader: Reader, scope: SitesScope, id: string): Promise<Mxedge> {
  const row = await selectMxedges(reader, scope).where('id', '=', id).executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

/** Locked against other changes until `tx` ends. */
export async function lockMxedge(tx: Tx, scope: SitesScope, id: string): Promise<Mxedge> {
  const row = await selectMxedges(tx, scope).where('id', '=', id).forUpdate().executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

/** Those of `ids` that are there, ordered by id: every caller locks in one order, hence no deadlock. */
export function lockMxedges(tx: Tx, scope: SitesScope, ids: readonly string[]): Promise<Mxedge[]> {
  return selectMxedges(tx, scope).where('id', '=', anyOf(ids)).orderBy('id').forUpdate().execute()
}

export interface NewMxedge extends MxedgeContent {
  readonly id: string
  readonly mac: string | null
  readonly serial: string | null
  readonly registrationCode: string
  readonly at: Date
}

export function insertMxedge(tx: Tx, scope: OrgScope, mxedge: NewMxedge): Promise<Mxedge> {
  const { id, name, model, mxclusterId, doc, mac, serial, registrationCode, at } = mxedge
  const content = { name, model, mxclusterId, doc: json(doc), mac, serial, registrationCode }
  return tx
    .insertInto('mxedge')
    .values({ orgId: scope.orgId, id, ...content, createdAt: at, modifiedAt: at })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export function updateMxedgeRow(
  tx: Tx,
  scope: InOrg,
  { id, name, model, mxclusterId, doc, at }: MxedgeContent & { readonly id: string; readonly at: Date },
): Promise<Mxedge> {
  return tx
    .updateTable('mxedge')
    .set({ name, model, mxclusterId, doc: json(doc), modifiedAt: at })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** @param siteId Null: of no site any more. */
export async function moveMxedges(
  tx: Tx,
  scope: OrgScope,
  { ids, siteId, at }: { readonly ids: readonly string[]; readonly siteId: string | null; readonly at: Date },
): Promise<void> {
  await tx
    .updateTable('mxedge')
    .set({ siteId, modifiedAt: at })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(ids))
    .execute()
}

/** The epoch in which an appliance can register now is a new one, and the code that it shows. */
export async function renewRegistration(
  tx: Tx,
  scope: OrgScope,
  { id, code, at }: { readonly id: string; readonly code: string; readonly at: Date },
): Promise<void> {
  await tx
    .updateTable('mxedge')
    .set({
      registrationCode: code,
      registrationEpoch: sql<number>`registration_epoch + 1`,
      registeredAt: null,
      modifiedAt: at,
    })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
}

/** With its pictures' rows; what happened to it stays. */
export async function deleteMxedgeRow(tx: Tx, scope: InOrg, id: string): Promise<void> {
  await tx.deleteFrom('mxedge').where('orgId', '=', scope.orgId).where('id', '=', id).execute()
}

/** Whether an appliance of any organization registers with this code. @param code As plainClaimCode() makes it. */
export async function isRegistrationCodeUsed(tx: Tx, code: string): Promise<boolean> {
  const row = await tx
    .selectFrom('mxedge')
    .select('id')
    .where(sql<string>`upper(replace(registration_code, '-', ''))`, '=', code)
    .executeTakeFirst()
  return row !== undefined
}
