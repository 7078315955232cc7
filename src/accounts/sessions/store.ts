import { sql } from 'kysely'
import type { Insertable } from 'kysely'
import type { Tx } from '../../platform/db.ts'
import type { SessionTable } from '../../platform/schema/access.ts'

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

export async function insertSession(tx: Tx, session: Insertable<SessionTable>): Promise<void> {
  await tx.insertInto('session').values(session).execute()
}

export async function deleteSession(tx: Tx, idHash: Buffer): Promise<void> {
  await tx.deleteFrom('session').where('idHash', '=', idHash).execute()
}

export async function deleteExpiredSessions(tx: Tx, now: Date): Promise<void> {
  await tx.deleteFrom('session').where('expiresAt', '<=', now).execute()
}
