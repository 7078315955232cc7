import { sql } from 'kysely'
import { type Tx, countRows } from '../platform/db.ts'

/** Makes transactions about the same address take turns, until `tx` ends. */
export async function lockMailAddress(tx: Tx, addressHash: Buffer): Promise<void> {
  await sql`select pg_advisory_xact_lock(${addressHash.readBigInt64BE().toString()}::bigint)`.execute(tx)
}

/** Mails to the address later than `since`. */
export function countMailsSent(tx: Tx, addressHash: Buffer, since: Date): Promise<number> {
  return countRows(tx.selectFrom('mailSent').where('addressHash', '=', addressHash).where('sentAt', '>', since))
}

export async function insertMailSent(
  tx: Tx,
  sent: { readonly addressHash: Buffer; readonly id: string; readonly sentAt: Date },
): Promise<void> {
  await tx.insertInto('mailSent').values(sent).execute()
}

export async function deleteMailsSentUntil(tx: Tx, until: Date): Promise<void> {
  await tx.deleteFrom('mailSent').where('sentAt', '<=', until).execute()
}
