import { type Selectable, sql } from 'kysely'
import { type Db, type Reader, type Tx, anyOf, json, readByKeys } from '../../platform/database/db.ts'
import type { AdminScope, InOrg } from '../../access/scope.ts'
import { AppError } from '../../platform/errors.ts'
import type { AdminTable } from '../../access/tables.ts'

export type Admin = Selectable<AdminTable>

/** @throws AppError not_found: the account may have been deleted since the request was authenticated. */
export async function lockAdmin(tx: Tx, { adminId }: AdminScope): Promise<Admin> {
  return requireAdmin(await tx.selectFrom('admin').selectAll().where('id', '=', adminId).forUpdate().executeTakeFirst())
}

/** @throws AppError not_found, as lockAdmin(). */
export async function getAdmin(reader: Reader, { adminId }: AdminScope): Promise<Admin> {
  return requireAdmin(await reader.selectFrom('admin').selectAll().where('id', '=', adminId).executeTakeFirst())
}

function requireAdmin(admin: Admin | undefined): Admin {
  if (admin === undefined) throw new AppError('not_found', 'Not found.')
  return admin
}

/** The fields of the account record that the principal lacks. */
export interface AccountExtras {
  /** The shortest session of the admin's organizations; null if none limits it. */
  readonly sessionMinutes: number | null
  /** The names of the linked OAuth providers. */
  readonly providers: readonly string[]
}

/**
 * Reads for several callers at once, keyed by the admin's id.
 *
 * @unscoped Each caller gets only the entry of their own id.
 */
export function extrasByAdminIds(db: Db): (adminIds: readonly string[]) => Promise<Map<string, AccountExtras>> {
  const read = readByKeys(db, selectExtras)
  return async (adminIds) => new Map((await read(adminIds)).map(({ id, ...extras }) => [id, extras]))
}

function selectExtras(db: Db, adminIds: readonly string[]) {
  return db
    .selectFrom('admin')
    .select([
      'id',
      sql<number | null>`(
        select min((org.doc ->> 'session_expiry')::int) from privilege join org on org.id = privilege.org_id
        where privilege.admin_id = admin.id)`.as('sessionMinutes'),
      sql<string[]>`array(select provider from oauth_identity where admin_id = admin.id)`.as('providers'),
    ])
    .where('id', '=', anyOf(adminIds))
}

/**
 * Finds the account with the address, but not one that an identity provider vouches for.
 *
 * @param email In lower case.
 * @unscoped Anyone may name an address; the answer goes to that address by mail.
 */
export async function findAdminByEmail(reader: Reader, email: string): Promise<Admin | undefined> {
  return reader.selectFrom('admin').selectAll().where('email', '=', email).where('ssoId', 'is', null).executeTakeFirst()
}

export async function updateProfile(
  tx: Tx,
  { adminId }: AdminScope,
  { profile, ...names }: Pick<Admin, 'firstName' | 'lastName' | 'noTracking' | 'profile'>,
): Promise<void> {
  await tx
    .updateTable('admin')
    .set({ ...names, profile: json(profile) })
    .where('id', '=', adminId)
    .execute()
}

/** @param passwordHash Null: password sign-in is disabled until a new one is set. */
export async function updatePassword(
  tx: Tx,
  { adminId }: AdminScope,
  { passwordHash, at }: { readonly passwordHash: string | null; readonly at: Date },
): Promise<void> {
  await tx.updateTable('admin').set({ passwordHash, passwordModifiedAt: at }).where('id', '=', adminId).execute()
}

export async function updateEmail(tx: Tx, { adminId }: AdminScope, email: string): Promise<void> {
  await tx.updateTable('admin').set({ email }).where('id', '=', adminId).execute()
}

export async function deleteAdmin(tx: Tx, { adminId }: AdminScope): Promise<void> {
  await tx.deleteFrom('admin').where('id', '=', adminId).execute()
}

/**
 * Locks the organizations that the admin administers, so that two of their administrators can't leave at the same time.
 */
export async function lockOrgsAdministeredBy(
  tx: Tx,
  { adminId }: AdminScope,
): Promise<{ readonly id: string; readonly name: string }[]> {
  const administered = tx
    .selectFrom('privilege')
    .select('orgId')
    .where('adminId', '=', adminId)
    .where('scope', '=', 'org')
    .where('role', '=', 'admin')
  return tx.selectFrom('org').select(['id', 'name']).where('id', 'in', administered).orderBy('id').forUpdate().execute()
}

/**
 * True if another person administers the whole organization. Accounts of an identity provider don't count: its failure
 * must not lock everyone out.
 */
export async function hasOtherAdmin(tx: Tx, { orgId }: InOrg, adminId: string): Promise<boolean> {
  const other = await tx
    .selectFrom('privilege')
    .innerJoin('admin', 'admin.id', 'privilege.adminId')
    .select('privilege.adminId')
    .where('privilege.orgId', '=', orgId)
    .where('privilege.scope', '=', 'org')
    .where('privilege.role', '=', 'admin')
    .where('privilege.adminId', '!=', adminId)
    .where('admin.ssoId', 'is', null)
    .executeTakeFirst()
  return other !== undefined
}
