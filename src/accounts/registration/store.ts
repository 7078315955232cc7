import type { Selectable } from 'kysely'
import type { SettingDocument } from '../../orgs/setting.ts'
import { type Reader, type Tx, json } from '../../platform/db.ts'
import type { PendingRegistrationTable, RegistrationDocument } from '../tables.ts'

export type PendingRegistration = Selectable<PendingRegistrationTable>

export type NewPending = Omit<PendingRegistration, 'doc' | 'usedAt'> & { readonly doc: RegistrationDocument }

/** Whether an account with a password has the address. */
export async function hasAccount(reader: Reader, email: string): Promise<boolean> {
  const row = await reader
    .selectFrom('admin')
    .select('id')
    .where('email', '=', email)
    .where('ssoId', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/** Whether the token is of an invitation for the address that can still be accepted. */
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

/** Settings of the organization that the token invites to; undefined where there is no such thing. */
export async function findInvitingSetting(reader: Reader, tokenHash: Buffer): Promise<SettingDocument | undefined> {
  const row = await reader
    .selectFrom('invite')
    .innerJoin('orgSetting', 'orgSetting.orgId', 'invite.orgId')
    .select('orgSetting.doc')
    .where('invite.tokenHash', '=', tokenHash)
    .executeTakeFirst()
  return row?.doc
}

export async function insertPending(tx: Tx, pending: NewPending): Promise<void> {
  await tx
    .insertInto('pendingRegistration')
    .values({ ...pending, doc: json(pending.doc), usedAt: null })
    .execute()
}

/**
 * The registration with the token. It and all others of its address are locked, always in the same
 * order, so that two of them that are verified at once take turns.
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

/** No registration of the address can be verified any more; what it asked for is forgotten. */
export async function markPendingUsed(tx: Tx, email: string, usedAt: Date): Promise<void> {
  await tx
    .updateTable('pendingRegistration')
    .set({ usedAt, passwordHash: '', doc: json({}) })
    .where('email', '=', email)
    .where('usedAt', 'is', null)
    .execute()
}

export async function deletePendingExpiredBefore(tx: Tx, expiredBefore: Date): Promise<void> {
  await tx.deleteFrom('pendingRegistration').where('expiresAt', '<', expiredBefore).execute()
}
