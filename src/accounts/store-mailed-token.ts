import type { Selectable } from 'kysely'
import { type Reader, type Tx, json } from '../platform/db.ts'
import type { MailedTokenTable } from './tables.ts'

export type MailedToken = Selectable<MailedTokenTable>

/** Which token, and what it must be for. */
export type MailedTokenKey = Pick<MailedToken, 'tokenHash' | 'purpose'>

export async function insertMailedToken(tx: Tx, token: MailedToken): Promise<void> {
  await tx
    .insertInto('mailedToken')
    .values({ ...token, doc: json(token.doc) })
    .execute()
}

export async function findMailedToken(reader: Reader, key: MailedTokenKey): Promise<MailedToken | undefined> {
  return reader
    .selectFrom('mailedToken')
    .selectAll()
    .where('tokenHash', '=', key.tokenHash)
    .where('purpose', '=', key.purpose)
    .executeTakeFirst()
}

/** Uses it up. Undefined where it is unknown, or used up already. */
export async function takeMailedToken(tx: Tx, key: MailedTokenKey): Promise<MailedToken | undefined> {
  return tx
    .deleteFrom('mailedToken')
    .where('tokenHash', '=', key.tokenHash)
    .where('purpose', '=', key.purpose)
    .returningAll()
    .executeTakeFirst()
}

/** All that the admin has been mailed for the purpose. */
export async function deleteMailedTokens(tx: Tx, adminId: string, purpose: MailedToken['purpose']): Promise<void> {
  await tx.deleteFrom('mailedToken').where('adminId', '=', adminId).where('purpose', '=', purpose).execute()
}

/** Leaves those that somebody else is about to delete, so that two can't wait for each other. */
export async function deleteMailedTokensBefore(tx: Tx, expiredBefore: Date): Promise<void> {
  const old = tx
    .selectFrom('mailedToken')
    .select('tokenHash')
    .where('expiresAt', '<', expiredBefore)
    .forUpdate()
    .skipLocked()
  await tx.deleteFrom('mailedToken').where('tokenHash', 'in', old).execute()
}
