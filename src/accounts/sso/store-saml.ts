import type { Insertable, Selectable } from 'kysely'
import { uuidv7 } from 'uuidv7'
import { type Reader, type Tx, anyOf, json } from '../../platform/db.ts'
import type { SamlRequestTable } from '../tables.ts'

export async function insertRequest(tx: Tx, request: Insertable<SamlRequestTable>): Promise<void> {
  await tx.insertInto('samlRequest').values(request).execute()
}

/** Reads and removes it: a request is answered once. */
export async function takeRequest(
  tx: Tx,
  { id, ssoId }: { readonly id: string; readonly ssoId: string },
): Promise<Selectable<SamlRequestTable> | undefined> {
  return tx.deleteFrom('samlRequest').where('id', '=', id).where('ssoId', '=', ssoId).returningAll().executeTakeFirst()
}

/** @returns False for a message that has been used already. */
export async function insertUsed(
  tx: Tx,
  used: { readonly ssoId: string; readonly assertionId: string; readonly expiresAt: Date },
): Promise<boolean> {
  const inserted = await tx
    .insertInto('samlAssertionUsed')
    .values(used)
    .onConflict((conflict) => conflict.columns(['ssoId', 'assertionId']).doNothing())
    .returning('ssoId')
    .executeTakeFirst()
  return inserted !== undefined
}

/** Requests that nobody answered, and messages that are too old to be used again anyway. */
export async function deleteExpiredMessages(tx: Tx, now: Date): Promise<void> {
  await tx.deleteFrom('samlRequest').where('expiresAt', '<=', now).execute()
  await tx.deleteFrom('samlAssertionUsed').where('expiresAt', '<=', now).execute()
}

export interface Person {
  readonly ssoId: string
  readonly subject: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
}

export interface SsoAdmin {
  readonly id: string
  readonly hasSecondFactor: boolean
}

/** The account of a person at an identity provider: made at their first login, named anew at each. */
export async function upsertSsoAdmin(tx: Tx, person: Person, at: Date): Promise<SsoAdmin> {
  const { ssoId, subject, ...named } = person
  const { id, totpSince } = await tx
    .insertInto('admin')
    .values({
      ...named,
      id: uuidv7(),
      ssoId,
      ssoSubject: subject,
      passwordHash: null,
      passwordModifiedAt: null,
      profile: json({}),
      createdAt: at,
    })
    .onConflict((conflict) => conflict.columns(['ssoId', 'ssoSubject']).doUpdateSet(named))
    .returning(['id', 'totpSince'])
    .executeTakeFirstOrThrow()
  return { id, hasSecondFactor: totpSince !== null }
}

/** Those who came by the SSO, with all that was theirs. */
export async function deleteSsoAdmins(tx: Tx, ssoId: string): Promise<number> {
  const { numDeletedRows } = await tx.deleteFrom('admin').where('ssoId', '=', ssoId).executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

/** @param emails In lower case. @returns Those of whom there was an account. */
export async function deleteSsoAdminsByEmail(tx: Tx, ssoId: string, emails: readonly string[]): Promise<string[]> {
  const rows = await tx
    .deleteFrom('admin')
    .where('ssoId', '=', ssoId)
    .where('email', '=', anyOf(emails))
    .returning('email')
    .execute()
  return rows.map(({ email }) => email)
}

/** The account of a subject; undefined for one that never signed in. */
export async function findSsoAdmin(
  reader: Reader,
  { ssoId, subject }: Pick<Person, 'ssoId' | 'subject'>,
): Promise<{ readonly id: string; readonly email: string } | undefined> {
  return reader
    .selectFrom('admin')
    .select(['id', 'email'])
    .where('ssoId', '=', ssoId)
    .where('ssoSubject', '=', subject)
    .executeTakeFirst()
}

export async function shortenSession(tx: Tx, idHash: Buffer, expiresAt: Date): Promise<void> {
  await tx.updateTable('session').set({ expiresAt }).where('idHash', '=', idHash).execute()
}

export interface SsoSessions {
  readonly ssoId: string
  readonly adminId: string
  /** As the identity provider calls them; empty: all that the SSO opened for the account. */
  readonly ssoSessions: readonly string[]
}

export async function deleteSsoSessions(tx: Tx, { ssoId, adminId, ssoSessions }: SsoSessions): Promise<void> {
  await tx
    .deleteFrom('session')
    .where('ssoId', '=', ssoId)
    .where('adminId', '=', adminId)
    .$if(ssoSessions.length > 0, (query) => query.where('ssoSession', '=', anyOf(ssoSessions)))
    .execute()
}
