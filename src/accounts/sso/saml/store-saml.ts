import type { Insertable, Selectable } from 'kysely'
import { uuidv7 } from '../../../platform/uuidv7.ts'
import type { AdminScope, InOrg, OrgScope } from '../../../access/scope.ts'
import { type Reader, type Tx, anyOf, json } from '../../../platform/database/db.ts'
import type { SamlRequestTable } from '../../tables.ts'

/** @throws If the SSO is not one of the organization's. */
export async function insertRequest(tx: Tx, scope: InOrg, request: Insertable<SamlRequestTable>): Promise<void> {
  await tx
    .insertInto('samlRequest')
    .values({ ...request, ssoId: ssoIdIn(tx, scope, request.ssoId) })
    .execute()
}

/** Selects the id of the SSO if it belongs to the organization: the tables below reference only the SSO. */
function ssoIdIn(reader: Reader, { orgId }: InOrg, ssoId: string) {
  return reader.selectFrom('sso').select('id').where('orgId', '=', orgId).where('id', '=', ssoId)
}

/** Deletes and returns the request: each is answered once. */
export async function consumeRequest(
  tx: Tx,
  scope: InOrg,
  { id, ssoId }: { readonly id: string; readonly ssoId: string },
): Promise<Selectable<SamlRequestTable> | undefined> {
  return tx
    .deleteFrom('samlRequest')
    .where('id', '=', id)
    .where('ssoId', '=', ssoIdIn(tx, scope, ssoId))
    .returningAll()
    .executeTakeFirst()
}

/**
 * Records that a message has been used.
 *
 * @returns False if it was used already.
 */
export async function insertUsedMessage(
  tx: Tx,
  scope: InOrg,
  used: { readonly ssoId: string; readonly assertionId: string; readonly expiresAt: Date },
): Promise<boolean> {
  const inserted = await tx
    .insertInto('samlAssertionUsed')
    .values({ ...used, ssoId: ssoIdIn(tx, scope, used.ssoId) })
    .onConflict((conflict) => conflict.columns(['ssoId', 'assertionId']).doNothing())
    .returning('ssoId')
    .executeTakeFirst()
  return inserted !== undefined
}

/**
 * Deletes unanswered requests, and records of messages that are too old to be accepted again.
 *
 * @unscoped A chore, for all organizations.
 */
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

/** Inserts the account of a person at an identity provider at their first login, and updates their name at each. */
export async function upsertSsoAdmin(
  tx: Tx,
  scope: InOrg,
  { ssoId, subject, at, ...named }: Person & { readonly at: Date },
): Promise<SsoAdmin> {
  const { id, totpSince } = await tx
    .insertInto('admin')
    .values({
      ...named,
      id: uuidv7(),
      ssoId: ssoIdIn(tx, scope, ssoId),
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

/**
 * Deletes the accounts of an SSO with all that belongs to them.
 *
 * @returns How many there were.
 */
export async function deleteSsoAdmins(tx: Tx, scope: OrgScope, ssoId: string): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('admin')
    .where('ssoId', '=', ssoIdIn(tx, scope, ssoId))
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

/**
 * @param emails In lower case.
 * @returns The addresses that had an account.
 */
export async function deleteSsoAdminsByEmail(
  tx: Tx,
  scope: OrgScope,
  { ssoId, emails }: { readonly ssoId: string; readonly emails: readonly string[] },
): Promise<string[]> {
  const rows = await tx
    .deleteFrom('admin')
    .where('ssoId', '=', ssoIdIn(tx, scope, ssoId))
    .where('email', '=', anyOf(emails))
    .returning('email')
    .execute()
  return rows.map(({ email }) => email)
}

/** Finds the account of a subject; undefined if the subject never signed in. */
export async function findSsoAdmin(
  reader: Reader,
  scope: InOrg,
  { ssoId, subject }: Pick<Person, 'ssoId' | 'subject'>,
): Promise<{ readonly id: string; readonly email: string } | undefined> {
  return reader
    .selectFrom('admin')
    .select(['id', 'email'])
    .where('ssoId', '=', ssoIdIn(reader, scope, ssoId))
    .where('ssoSubject', '=', subject)
    .executeTakeFirst()
}

export async function updateSessionEnd(
  tx: Tx,
  { adminId }: AdminScope,
  { idHash, expiresAt }: { readonly idHash: Buffer; readonly expiresAt: Date },
): Promise<void> {
  await tx
    .updateTable('session')
    .set({ expiresAt })
    .where('adminId', '=', adminId)
    .where('idHash', '=', idHash)
    .execute()
}

export interface SsoSessions {
  readonly ssoId: string
  readonly adminId: string
  /** The identity provider's names for the sessions; empty for all that the SSO opened for the account. */
  readonly ssoSessions: readonly string[]
}

export async function deleteSsoSessions(
  tx: Tx,
  scope: InOrg,
  { ssoId, adminId, ssoSessions }: SsoSessions,
): Promise<void> {
  await tx
    .deleteFrom('session')
    .where('ssoId', '=', ssoIdIn(tx, scope, ssoId))
    .where('adminId', '=', adminId)
    .$if(ssoSessions.length > 0, (query) => query.where('ssoSession', '=', anyOf(ssoSessions)))
    .execute()
}
