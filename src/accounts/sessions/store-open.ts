import { type Selectable, sql } from 'kysely'
import type { AdminScope } from '../../access/scope.ts'
import type { SessionTable } from '../../access/tables.ts'
import type { Reader, Tx } from '../../platform/database/db.ts'

export type OpenSession = Pick<
  Selectable<SessionTable>,
  'idHash' | 'ssoId' | 'createdAt' | 'expiresAt' | 'lastSeenAt' | 'srcIp' | 'userAgent'
>

/** Lists the sessions of the account that may be used, the one that was used last first. Their number is limited. */
export async function listOpenSessions(reader: Reader, { adminId }: AdminScope, now: Date): Promise<OpenSession[]> {
  return reader
    .selectFrom('session')
    .select(['idHash', 'ssoId', 'createdAt', 'expiresAt', 'lastSeenAt', 'srcIp', 'userAgent'])
    .where('adminId', '=', adminId)
    .where('secondFactorMissing', '=', false)
    .where('expiresAt', '>', now)
    .orderBy((eb) => eb.fn.coalesce('lastSeenAt', 'createdAt'), 'desc')
    .execute()
}

/**
 * Ends a session of the account.
 * @param id The first half of its hash.
 * @returns False if the account has none with this id.
 */
export async function deleteSessionById(tx: Tx, { adminId }: AdminScope, id: Buffer): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('session')
    .where('adminId', '=', adminId)
    .where(sql<Buffer>`substring(id_hash from 1 for 16)`, '=', id)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
