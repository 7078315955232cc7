import type { Selectable } from 'kysely'
import type { SettingDocument } from '../../orgs/org-settings/setting.ts'
import { type Reader, type Tx } from '../../platform/database/db.ts'
import { documentText } from '../../platform/sealing/document-column.ts'
import type { PendingRegistrationTable, RegistrationDocument } from '../tables.ts'

export type PendingRegistration = Selectable<PendingRegistrationTable>

export type NewPending = Omit<PendingRegistration, 'doc' | 'usedAt'> & { readonly doc: RegistrationDocument }

/**
 * True if an account has the address. Accounts of an identity provider don't count.
 *
 * @unscoped Anyone may name an address; the answer goes to that address by mail.
 */
export async function hasAccount(reader: Reader, email: string): Promise<boolean> {
  const row = await reader
    .selectFrom('admin')
    .select('id')
    .where('email', '=', email)
    .where('ssoId', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * True if the token belongs to an invitation of the address that can still be accepted.
 *
 * @unscoped The token is the proof.
 */
export async function isInvited(
  reader: Reader,
  { tokenHash, email, now }: { readonly tokenHash: Buffer; readonly email: string; readonly now: Date },
): Promise<boolean> {
  const row = await reader
    .selectFrom('invite')
    .select('id')
    .where('tokenHash', '=', tokenHash)
    .where('email', '=', email)
    .where('expiresAt', '>', now)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Finds the settings of the organization that the token invites to; undefined if there are none.
 *
 * @unscoped The token is the proof.
 */
export async function findInvitingSetting(reader: Reader, tokenHash: Buffer): Promise<SettingDocument | undefined> {
  const row = await reader
    .selectFrom('invite')
    .innerJoin('orgSetting', 'orgSetting.orgId', 'invite.orgId')
    .select('orgSetting.doc')
    .where('invite.tokenHash', '=', tokenHash)
    .executeTakeFirst()
  return row?.doc
}

/** @unscoped There is no account yet. */
export async function insertPending(tx: Tx, pending: NewPending): Promise<void> {
  await tx
    .insertInto('pendingRegistration')
    .values({ ...pending, doc: documentText(pending.doc), usedAt: null })
    .execute()
}

/**
 * Locks the registration with the token, and all others of its address, always in the same order, so that two
 * registrations verified at the same time take turns.
 *
 * @unscoped The token is the proof.
 */
export async function lockPending(tx: Tx, tokenHash: Buffer): Promise<PendingRegistration | undefined> {
  const rows = await tx
    .selectFrom('pendingRegistration')
    .selectAll()
    .where('email', '=', (eb) =>
      eb.selectFrom('pendingRegistration as named').select('named.email').where('named.tokenHash', '=', tokenHash),
    )
    .orderBy('id')
    .forUpdate()
    .execute()
  return rows.find((candidate) => candidate.tokenHash.equals(tokenHash))
}

/**
 * Marks all registrations of the address as used, and erases their content.
 *
 * @unscoped The token of one of them has proved the address.
 */
export async function markPendingUsed(tx: Tx, email: string, usedAt: Date): Promise<void> {
  await tx
    .updateTable('pendingRegistration')
    .set({ usedAt, passwordHash: '', doc: documentText({}) })
    .where('email', '=', email)
    .where('usedAt', 'is', null)
    .execute()
}

/** @unscoped A chore, for all addresses. */
export async function deletePendingExpiredBefore(tx: Tx, expiredBefore: Date): Promise<void> {
  await tx.deleteFrom('pendingRegistration').where('expiresAt', '<', expiredBefore).execute()
}
