import type { Selectable } from 'kysely'
import type { InOrg, OrgScope } from '../access/scope.ts'
import { type Reader, type Tx, countRows } from '../platform/database/db.ts'
import { executeAtCommit } from '../platform/database/last-statement.ts'
import { documentText } from '../platform/sealing/document-column.ts'
import { notFound } from '../platform/errors.ts'
import type { OrgTable } from '../access/tables.ts'

export type Org = Selectable<OrgTable>

export interface OrgContent {
  readonly name: string
  readonly doc: Record<string, unknown>
  readonly at: Date
}

export async function insertOrg(tx: Tx, scope: OrgScope, { name, doc, at }: OrgContent): Promise<Org> {
  return tx
    .insertInto('org')
    .values({
      id: scope.orgId,
      name,
      doc: documentText(doc),
      createdBy: scope.actor.adminId,
      createdAt: at,
      modifiedAt: at,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Counts the organizations that the account has created; until `tx` ends no other transaction can add one. */
export async function lockOrgCount(tx: Tx, adminId: string): Promise<number> {
  await tx.selectFrom('admin').select('id').where('id', '=', adminId).forNoKeyUpdate().execute()
  return countRows(tx.selectFrom('org').where('createdBy', '=', adminId))
}

export async function getOrg(reader: Reader, scope: InOrg): Promise<Org> {
  const org = await reader.selectFrom('org').selectAll().where('id', '=', scope.orgId).executeTakeFirst()
  if (org === undefined) throw notFound(scope.orgId)
  return org
}

/** Returns the organization, locked against other changes until `tx` ends. */
export async function lockOrg(tx: Tx, scope: InOrg): Promise<Org> {
  const org = await tx.selectFrom('org').selectAll().where('id', '=', scope.orgId).forUpdate().executeTakeFirst()
  if (org === undefined) throw notFound(scope.orgId)
  return org
}

/** Does the same for a change of the organization's own row: others may add objects to it meanwhile. */
export async function lockOrgAlone(tx: Tx, scope: InOrg): Promise<Org> {
  const org = await tx.selectFrom('org').selectAll().where('id', '=', scope.orgId).forNoKeyUpdate().executeTakeFirst()
  if (org === undefined) throw notFound(scope.orgId)
  return org
}

/**
 * Serializes transactions that add objects with a limit or a unique name in the organization. Call it before locking
 * anything in the organization; other changes are not blocked.
 */
export async function lockAdditions(tx: Tx, { orgId }: InOrg): Promise<void> {
  await tx.selectFrom('org').select('id').where('id', '=', orgId).forNoKeyUpdate().execute()
}

/** Prevents the deletion of the organization until `tx` ends. Call it before locking anything in it. */
export async function shareOrg(tx: Tx, scope: InOrg): Promise<void> {
  if (!(await shareOrgIfAny(tx, scope))) throw notFound(scope.orgId)
}

/** Does the same as shareOrg(), but returns false if there is none. */
export async function shareOrgIfAny(tx: Tx, { orgId }: Pick<InOrg, 'orgId'>): Promise<boolean> {
  return (
    (await tx.selectFrom('org').select('id').where('id', '=', orgId).forKeyShare().executeTakeFirst()) !== undefined
  )
}

/** Updates the locked organization with the commit. @returns A function that returns the row after the commit. */
export function updateOrgAtCommit(tx: Tx, { orgId }: OrgScope, { name, doc, at }: OrgContent): () => Org {
  const update = tx
    .updateTable('org')
    .set({ name, doc: documentText(doc), modifiedAt: at })
    .where('id', '=', orgId)
    .returningAll()
  const rows = executeAtCommit(tx, update.compile())
  return () => {
    const [updated] = rows()
    if (updated === undefined) throw notFound(orgId)
    return updated
  }
}
