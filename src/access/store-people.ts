import { sql } from 'kysely'
import { type Reader, anyOf } from '../platform/database/db.ts'

/**
 * Lists those of the accounts that belong to the person with the account `adminId`: this account, and those with the same address.
 * A person has one account with a password, and one of each single sign-on.
 */
export async function listAccountsOf(reader: Reader, adminId: string, among: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    select other.id from admin join admin other on lower(other.email) = lower(admin.email)
    where admin.id = ${adminId} and other.id = ${anyOf(among)}
  `.execute(reader)
  return [...new Set([...rows.map(({ id }) => id), ...among.filter((id) => id === adminId)])]
}
