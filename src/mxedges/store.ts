import { sql } from 'kysely'
import type { InOrg, OrgScope, SitesScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import type { Page, Paged } from '../http/lists/lists.ts'
import { sizesOf } from '../http/lists/store-bounds.ts'
import { pageOf } from '../http/lists/store-pages.ts'
import { type Reader, type Tx, anyOf, countRows } from '../platform/database/db.ts'
import { documentText } from '../platform/sealing/document-column.ts'
import { noteChanges } from '../platform/database/changes.ts'
import { notFound } from '../platform/errors.ts'
import type { Mxedge, MxedgeContent } from './mxedge.ts'

/** Selects the appliances of the scope's sites. */
export function selectMxedges(reader: Reader, scope: SitesScope) {
  return fromMxedges(reader, scope).selectAll()
}

function fromMxedges(reader: Reader, scope: SitesScope) {
  return reader
    .selectFrom('mxedge')
    .where('orgId', '=', scope.orgId)
    .where(inSites(scope, sql.ref('mxedge.site_id')))
}

/** Counts the edge appliances that the scope covers. */
export function countVisibleMxedges(reader: Reader, scope: SitesScope): Promise<number> {
  return countRows(fromMxedges(reader, scope))
}

/**
 * Lists appliances by id.
 * @param forSite True: only assigned ones; false: only unassigned ones; null: both.
 */
export function listMxedges(
  reader: Reader,
  scope: SitesScope,
  { forSite, page }: { readonly forSite: boolean | null; readonly page: Page },
): Promise<Paged<Mxedge>> {
  const all = selectMxedges(reader, scope)
  const hits = forSite === null ? all : all.where('siteId', forSite ? 'is not' : 'is', null)
  return pageOf<Mxedge>(reader, { hits, sizes: sizesOf(sql`hit.doc_bytes`) }, page)
}

/** Lists those of `ids` that exist. */
export function listMxedgesById(reader: Reader, scope: SitesScope, ids: readonly string[]): Promise<Mxedge[]> {
  return selectMxedges(reader, scope).where('id', '=', anyOf(ids)).execute()
}

export async function getMxedge(reader: Reader, scope: SitesScope, id: string): Promise<Mxedge> {
  const row = await selectMxedges(reader, scope).where('id', '=', id).executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

/** Returns the appliance, locked against other changes until `tx` ends. */
export async function lockMxedge(tx: Tx, scope: SitesScope, id: string): Promise<Mxedge> {
  const row = await selectMxedges(tx, scope).where('id', '=', id).forUpdate().executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

/** Locks those of `ids` that exist, in the order of ids, as everywhere, to prevent deadlocks. */
export function lockMxedges(tx: Tx, scope: SitesScope, ids: readonly string[]): Promise<Mxedge[]> {
  return selectMxedges(tx, scope).where('id', '=', anyOf(ids)).orderBy('id').forUpdate().execute()
}

/** Locks appliances by their labels, in the order of ids. @param names As plainNames() returns them. */
export function lockMxedgesBy(
  tx: Tx,
  scope: SitesScope,
  { macs, serials }: { readonly macs: readonly string[]; readonly serials: readonly string[] },
): Promise<Mxedge[]> {
  return selectMxedges(tx, scope)
    .where((eb) => eb.or([eb('mac', '=', anyOf(macs)), eb('serial', '=', anyOf(serials))]))
    .orderBy('id')
    .forUpdate()
    .execute()
}

export interface NewMxedge extends MxedgeContent {
  readonly id: string
  readonly mac: string | null
  readonly serial: string | null
  readonly registrationCode: string
  /** From 1. */
  readonly registrationEpoch: number
  readonly at: Date
}

export function insertMxedge(tx: Tx, scope: OrgScope, mxedge: NewMxedge): Promise<Mxedge> {
  noteMxedges(tx, scope, [mxedge.id])
  const { id, name, model, mxclusterId, doc, mac, serial, registrationCode, registrationEpoch, at } = mxedge
  const registration = { registrationCode, registrationEpoch }
  const content = { name, model, mxclusterId, doc: documentText(doc), mac, serial, ...registration }
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
  noteMxedges(tx, scope, [id])
  return tx
    .updateTable('mxedge')
    .set({ name, model, mxclusterId, doc: documentText(doc), modifiedAt: at })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** @param siteId Null takes them out of their sites. */
export async function moveMxedges(
  tx: Tx,
  scope: OrgScope,
  { ids, siteId, at }: { readonly ids: readonly string[]; readonly siteId: string | null; readonly at: Date },
): Promise<void> {
  await noteLeaving(tx, scope, { ids, siteId })
  noteMxedges(tx, scope, ids)
  await tx
    .updateTable('mxedge')
    .set({ siteId, modifiedAt: at })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(ids))
    .execute()
}

/** Starts a new epoch for registrations, with a new code. */
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
      registeredKey: null,
      renewalKey: null,
      modifiedAt: at,
    })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
}

/** Notifies watchers that the appliances have changed, once `tx` has committed. */
function noteMxedges(tx: Tx, { orgId }: InOrg, ids: readonly string[]): void {
  const changed = ids.map((id) => ({ orgId, id }))
  noteChanges(tx, 'mxedge', changed)
  noteChanges(tx, 'mxedge_stats', changed)
}

/** Notifies watchers of the appliances that leave their sites. */
async function noteLeaving(
  tx: Tx,
  { orgId }: InOrg,
  { ids, siteId }: { readonly ids: readonly string[]; readonly siteId: string | null },
): Promise<void> {
  const leaving = await tx
    .selectFrom('mxedge')
    .select(['id', 'siteId'])
    .where('orgId', '=', orgId)
    .where('id', '=', anyOf(ids))
    .where('siteId', 'is not', null)
    .where(sql<boolean>`site_id is distinct from ${siteId}::uuid`)
    .execute()
  const left = leaving.map((mxedge) => ({ orgId, id: `${mxedge.siteId}/${mxedge.id}` }))
  noteChanges(tx, 'mxedge_left', left)
}

/** The rows of its pictures are deleted in cascade; its events stay. */
export async function deleteMxedgeRow(tx: Tx, scope: InOrg, id: string): Promise<void> {
  await noteLeaving(tx, scope, { ids: [id], siteId: null })
  noteChanges(tx, 'mxedge_left', [{ orgId: scope.orgId, id: `/${id}` }])
  await tx.deleteFrom('mxedge').where('orgId', '=', scope.orgId).where('id', '=', id).execute()
}

const plainRegistrationCode = sql<string>`upper(replace(registration_code, '-', ''))`

/** Lists the appliances that register with one of the codes. @param codes As plainClaimCode() returns them. */
export function listMxedgesByCodes(tx: Tx, scope: OrgScope, codes: readonly string[]): Promise<Mxedge[]> {
  return selectMxedges(tx, scope).where(plainRegistrationCode, '=', anyOf(codes)).orderBy('id').execute()
}

/**
 * Returns those of `codes` with which an appliance of any organization registers.
 * @param codes As plainClaimCode() returns them.
 */
export async function listUsedRegistrationCodes(tx: Tx, codes: readonly string[]): Promise<Set<string>> {
  const code = plainRegistrationCode
  const rows = await tx.selectFrom('mxedge').select(code.as('code')).where(code, '=', anyOf(codes)).execute()
  return new Set(rows.map((row) => row.code))
}
