import type { Selectable } from 'kysely'
import type { AdminScope } from '../../access/scope.ts'
import { type Reader, type Tx } from '../../platform/database/db.ts'
import { documentText } from '../../platform/sealing/document-column.ts'
import type { MailedTokenTable } from '../tables.ts'

export type MailedToken = Selectable<MailedTokenTable>

/** Identifies a token by its hash and its purpose. */
export type MailedTokenKey = Pick<MailedToken, 'tokenHash' | 'purpose'>

/** @unscoped A person who requests a recovery has proved nothing yet; the token is mailed to the owner. */
export async function insertMailedToken(tx: Tx, token: MailedToken): Promise<void> {
  await tx
    .insertInto('mailedToken')
    .values({ ...token, doc: documentText(token.doc) })
    .execute()
}

/** @unscoped The token is the proof. */
export async function findMailedToken(reader: Reader, key: MailedTokenKey): Promise<MailedToken | undefined> {
  return reader
    .selectFrom('mailedToken')
    .selectAll()
    .where('tokenHash', '=', key.tokenHash)
    .where('purpose', '=', key.purpose)
    .executeTakeFirst()
}

/**
 * Deletes and returns the token, so that it works once; undefined if it is unknown or was used already.
 *
 * @unscoped The token is the proof.
 */
export async function consumeMailedToken(tx: Tx, key: MailedTokenKey): Promise<MailedToken | undefined> {
  return tx
    .deleteFrom('mailedToken')
    .where('tokenHash', '=', key.tokenHash)
    .where('purpose', '=', key.purpose)
    .returningAll()
    .executeTakeFirst()
}

/** Deletes all tokens that were mailed to the admin for the purpose. */
export async function deleteMailedTokens(
  tx: Tx,
  { adminId }: AdminScope,
  purpose: MailedToken['purpose'],
): Promise<void> {
  await tx.deleteFrom('mailedToken').where('adminId', '=', adminId).where('purpose', '=', purpose).execute()
}

/**
 * Deletes tokens that expired before the time. Skips those that another transaction is deleting, to avoid deadlocks.
 *
 * @unscoped A chore, for all accounts.
 */
export async function deleteMailedTokensBefore(tx: Tx, expiredBefore: Date): Promise<void> {
  const old = tx
    .selectFrom('mailedToken')
    .select('tokenHash')
    .where('expiresAt', '<', expiredBefore)
    .forUpdate()
    .skipLocked()
  await tx.deleteFrom('mailedToken').where('tokenHash', 'in', old).execute()
}
