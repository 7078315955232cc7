import { type Insertable, type Selectable, sql } from 'kysely'
import { actorName } from '../../access/principal.ts'
import type { AdminScope } from '../../access/scope.ts'
import type { Reader, Tx } from '../../platform/database/db.ts'
import type { AdminTable, SessionTable } from '../../access/tables.ts'

/** Finds the shortest `session_expiry` (in minutes) of the admin's organizations; null if none sets one. */
export async function findSessionMinutes(reader: Reader, { adminId }: AdminScope): Promise<number | null> {
  const row = await reader
    .selectFrom('privilege')
    .innerJoin('org', 'org.id', 'privilege.orgId')
    .select(sql<number | null>`min((org.doc ->> 'session_expiry')::int)`.as('minutes'))
    .where('privilege.adminId', '=', adminId)
    .executeTakeFirst()
  return row?.minutes ?? null
}

export type SignIn = Pick<Selectable<AdminTable>, 'passwordModifiedAt' | 'totpSince'>

/**
 * Locks the columns that decide how to sign in to the account, until `tx` ends. A transaction that also locks sessions
 * or mailed tokens of the account locks them afterwards.
 *
 * @param passwordModifiedAt As read when the caller proved their identity, which takes time.
 * @returns Undefined if the password has changed since, or the account is deleted.
 */
export async function lockSignIn(
  tx: Tx,
  { adminId }: AdminScope,
  passwordModifiedAt: Date | null,
): Promise<SignIn | undefined> {
  const row = await tx
    .selectFrom('admin')
    .select(['passwordModifiedAt', 'totpSince'])
    .where('id', '=', adminId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row?.passwordModifiedAt?.getTime() === passwordModifiedAt?.getTime() ? row : undefined
}

/** Returns the name under which the audit log shows the admin. */
export async function getActorName(reader: Reader, { adminId }: AdminScope): Promise<string> {
  const admin = await reader
    .selectFrom('admin')
    .select(['firstName', 'lastName', 'email'])
    .where('id', '=', adminId)
    .executeTakeFirstOrThrow()
  return actorName({ ...admin, tokenName: '' })
}

export async function insertSession(
  tx: Tx,
  { adminId }: AdminScope,
  session: Omit<Insertable<SessionTable>, 'adminId'>,
): Promise<void> {
  await tx
    .insertInto('session')
    .values({ ...session, adminId })
    .execute()
}

/**
 * Deletes expired sessions. Skips those that another transaction is deleting, because two logins could deadlock.
 *
 * @unscoped A chore, for all accounts.
 */
export async function deleteExpiredSessions(tx: Tx, now: Date): Promise<void> {
  const expired = tx.selectFrom('session').select('idHash').where('expiresAt', '<=', now).forUpdate().skipLocked()
  await tx.deleteFrom('session').where('idHash', 'in', expired).execute()
}

/**
 * Ends the sessions that were opened with an older password, or without the second factor.
 *
 * @param except The session to keep; null ends all of them.
 * @returns The number of ended sessions.
 */
export async function deleteSessionsOfAdmin(tx: Tx, { adminId }: AdminScope, except: Buffer | null): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('session')
    .where('adminId', '=', adminId)
    .$if(except !== null, (query) => query.where('idHash', '!=', except))
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

/**
 * Ends the sessions of the account beyond `max`, the least recently used first. Sessions that lack the second factor
 * are counted separately: knowing the password alone must not be enough to end the owner's sessions. The caller has
 * locked the account.
 *
 * @param opened The new session, which counts and stays.
 * @returns The number of ended sessions.
 */
export async function deleteSessionsBeyond(
  tx: Tx,
  { adminId }: AdminScope,
  opened: { readonly idHash: Buffer; readonly secondFactorMissing: boolean; readonly max: number; readonly now: Date },
): Promise<number> {
  const { idHash, secondFactorMissing, max, now } = opened
  const beyond = tx
    .selectFrom('session')
    .select('idHash')
    .where('adminId', '=', adminId)
    .where('secondFactorMissing', '=', secondFactorMissing)
    // Another login may be deleting expired sessions of all accounts and wait for this transaction.
    .where('expiresAt', '>', now)
    .where('idHash', '!=', idHash)
    .orderBy((eb) => eb.fn.coalesce('lastSeenAt', 'createdAt'), 'desc')
    .offset(max - 1)
  const { numDeletedRows } = await tx.deleteFrom('session').where('idHash', 'in', beyond).executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

/** Counts an attempt at the second factor, and locks the session; undefined if it has ended. */
export async function incrementSecondFactorTries(
  tx: Tx,
  { adminId }: AdminScope,
  idHash: Buffer,
): Promise<number | undefined> {
  const row = await tx
    .updateTable('session')
    .set((eb) => ({ secondFactorTries: eb('secondFactorTries', '+', 1) }))
    .where('adminId', '=', adminId)
    .where('idHash', '=', idHash)
    .returning('secondFactorTries')
    .executeTakeFirst()
  return row?.secondFactorTries
}

/** Marks the second factor of the session as passed. */
export async function completeSession(
  tx: Tx,
  { adminId }: AdminScope,
  { idHash, ...times }: { readonly idHash: Buffer; readonly expiresAt: Date; readonly provedAt: Date },
): Promise<void> {
  await tx
    .updateTable('session')
    .set({ secondFactorMissing: false, secondFactorPassed: true, secondFactorTries: 0, ...times })
    .where('adminId', '=', adminId)
    .where('idHash', '=', idHash)
    .execute()
}

/** Finds when the password was given in the session; null if the session was opened in another way or has ended. */
export async function findPasswordAt(reader: Reader, scope: AdminScope, idHash: Buffer): Promise<Date | null> {
  const row = await selectSession(reader, scope, idHash).select('passwordAt').executeTakeFirst()
  return row?.passwordAt ?? null
}

/** Finds when the person last signed in, or gave the second factor, in the session; null if it has ended. */
export async function findProvedAt(reader: Reader, scope: AdminScope, idHash: Buffer): Promise<Date | null> {
  const row = await selectSession(reader, scope, idHash).select('provedAt').executeTakeFirst()
  return row?.provedAt ?? null
}

function selectSession(reader: Reader, { adminId }: AdminScope, idHash: Buffer) {
  return reader.selectFrom('session').where('adminId', '=', adminId).where('idHash', '=', idHash)
}

/** @unscoped A person who failed to sign in has not proved to own the account. */
export async function insertLoginFailure(
  tx: Tx,
  failure: {
    readonly adminId: string
    readonly id: string
    readonly srcIp: string | null
    readonly userAgent: string | null
    readonly createdAt: Date
  },
): Promise<void> {
  await tx.insertInto('loginFailure').values(failure).execute()
}

/** @unscoped As insertLoginFailure(). */
export async function deleteLoginFailuresBefore(tx: Tx, adminId: string, before: Date): Promise<void> {
  await tx.deleteFrom('loginFailure').where('adminId', '=', adminId).where('createdAt', '<', before).execute()
}

/** Updates the hash only if it is still the one that was checked: a password that was changed since stays. */
export async function updatePasswordHash(
  tx: Tx,
  { adminId }: AdminScope,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  await tx
    .updateTable('admin')
    .set({ passwordHash: to })
    .where('id', '=', adminId)
    .where('passwordHash', '=', from)
    .execute()
}
