import { sql } from 'kysely'
import type { Tx } from '../platform/db.ts'

export interface NewAdmin {
  readonly id: string
  readonly email: string
  readonly passwordHash: string
  readonly firstName: string
  readonly lastName: string
  readonly createdAt: Date
}

/** @returns False when an account has the address already; nothing is changed then. */
export async function insertAdmin(tx: Tx, admin: NewAdmin): Promise<boolean> {
  const inserted = await tx
    .insertInto('admin')
    .values({ ...admin, passwordModifiedAt: admin.createdAt })
    .onConflict((conflict) => conflict.column('email').where('ssoId', 'is', null).doNothing())
    .returning('id')
    .executeTakeFirst()
  return inserted !== undefined
}

export interface NewApiToken {
  readonly id: string
  readonly adminId: string
  readonly name: string
  readonly keyHash: Buffer
  readonly keyHint: string
  readonly createdAt: Date
}

export async function insertApiToken(tx: Tx, token: NewApiToken): Promise<void> {
  await tx
    .insertInto('apiToken')
    .values({ ...token, orgId: null, privileges: null, createdBy: token.adminId, lastUsedAt: null })
    .execute()
}

export interface NewSession {
  readonly idHash: Buffer
  readonly adminId: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** The shortest `session_expiry` (minutes) of the admin's organizations; null where none sets one. */
export async function findSessionMinutes(tx: Tx, adminId: string): Promise<number | null> {
  const row = await tx
    .selectFrom('privilege')
    .innerJoin('org', 'org.id', 'privilege.orgId')
    .select(sql<number | null>`min((org.doc ->> 'session_expiry')::int)`.as('minutes'))
    .where('privilege.adminId', '=', adminId)
    .executeTakeFirst()
  return row?.minutes ?? null
}

export async function insertSession(tx: Tx, session: NewSession): Promise<void> {
  await tx.insertInto('session').values(session).execute()
}

export async function deleteSession(tx: Tx, idHash: Buffer): Promise<void> {
  await tx.deleteFrom('session').where('idHash', '=', idHash).execute()
}

export async function deleteExpiredSessions(tx: Tx, now: Date): Promise<void> {
  await tx.deleteFrom('session').where('expiresAt', '<=', now).execute()
}
