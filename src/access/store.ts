import { sql } from 'kysely'
import { type Db, type Tx, anyOf } from '../platform/db.ts'
import type { Principal, Privilege } from './principal.ts'

export interface AdminAccess extends Omit<Principal, 'via'> {
  readonly passwordHash: string | null
}

/** Live privileges of the admin of the outer query, as the wire-independent `Privilege` shape. */
const privilegesOfAdmin = sql<Privilege[]>`(
  select coalesce(json_agg(json_build_object(
    'orgId', p.org_id, 'orgName', o.name, 'scope', p.scope, 'role', p.role, 'siteId', p.site_id) order by p.id), '[]')
  from privilege p join org o on o.id = p.org_id
  where p.admin_id = admin.id
)`

function selectAccess(db: Db) {
  return db
    .selectFrom('admin')
    .select([
      'admin.id as adminId',
      'admin.email',
      'admin.firstName',
      'admin.lastName',
      'admin.passwordHash',
      'admin.passwordModifiedAt',
    ])
    .select(privilegesOfAdmin.as('privileges'))
}

/** Keyed by the hex of the token's SHA-256. */
export async function findAccessByTokenHashes(db: Db, hexHashes: readonly string[]): Promise<Map<string, AdminAccess>> {
  const hashes = hexHashes.map((hex) => Buffer.from(hex, 'hex'))
  const rows = await selectAccess(db)
    .innerJoin('apiToken', 'apiToken.adminId', 'admin.id')
    .select('apiToken.keyHash')
    .where('apiToken.keyHash', '=', anyOf(hashes))
    .execute()
  return new Map(rows.map(({ keyHash, ...access }) => [keyHash.toString('hex'), access]))
}

export async function findAccessBySession(db: Db, idHash: Buffer, now: Date): Promise<AdminAccess | undefined> {
  return selectAccess(db)
    .innerJoin('session', 'session.adminId', 'admin.id')
    .where('session.idHash', '=', idHash)
    .where('session.expiresAt', '>', now)
    .executeTakeFirst()
}

/** @param email In lower case. */
export async function findAccessByEmail(db: Db, email: string): Promise<AdminAccess | undefined> {
  return selectAccess(db).where('admin.email', '=', email).executeTakeFirst()
}

/** The organization of a site, where it is one of `orgIds`; so a foreign site is as unknown as a missing one. */
export async function findOrgOfSite(db: Db, orgIds: readonly string[], siteId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('site')
    .select('orgId')
    .where('orgId', '=', anyOf(orgIds))
    .where('id', '=', siteId)
    .executeTakeFirst()
  return row?.orgId
}

export interface NewPrivilege {
  readonly orgId: string
  readonly id: string
  readonly adminId: string
  readonly scope: 'org'
  readonly role: 'admin'
}

export async function insertPrivilege(tx: Tx, privilege: NewPrivilege): Promise<void> {
  await tx.insertInto('privilege').values(privilege).execute()
}
