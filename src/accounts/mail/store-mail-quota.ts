import { sql } from 'kysely'
import { type Tx, countRows } from '../../platform/database/db.ts'

/**
 * Makes transactions about the same address take turns, until `tx` ends.
 *
 * @unscoped Anyone may name an address; nobody has proved that it is theirs.
 */
export async function lockMailAddress(tx: Tx, addressHash: Buffer): Promise<void> {
  await sql`select pg_advisory_xact_lock(${addressHash.readBigInt64BE().toString()}::bigint)`.execute(tx)
}

/**
 * Counts the mails that were sent to the address after `since`.
 *
 * @unscoped As lockMailAddress().
 */
export function countMailsSent(tx: Tx, addressHash: Buffer, since: Date): Promise<number> {
  return countRows(tx.selectFrom('mailSent').where('addressHash', '=', addressHash).where('sentAt', '>', since))
}

/** @unscoped As lockMailAddress(). */
export async function insertMailSent(
  tx: Tx,
  sent: { readonly addressHash: Buffer; readonly id: string; readonly sentAt: Date },
): Promise<void> {
  await tx.insertInto('mailSent').values(sent).execute()
}

/** @unscoped A chore, for all addresses. */
export async function deleteMailsSentUntil(tx: Tx, until: Date): Promise<void> {
  await tx.deleteFrom('mailSent').where('sentAt', '<=', until).execute()
}
