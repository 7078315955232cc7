import { type Tx, json } from '../platform/database/db.ts'
import { sha256 } from '../platform/secrets.ts'
import { lockMailAddress } from './mail/store-mail-quota.ts'

export interface NewAdmin {
  readonly id: string
  readonly email: string
  readonly passwordHash: string
  readonly firstName: string
  readonly lastName: string
  readonly createdAt: Date
  /** Fields of the account record that the service stores without using them, in wire shape. */
  readonly profile?: Readonly<Record<string, unknown>>
  readonly noTracking?: boolean
}

/**
 * Makes transactions that give the address to an account take turns, until `tx` ends. Lock organizations before it.
 *
 * @param email In lower case.
 * @unscoped No account may have the address yet.
 */
export async function lockAddress(tx: Tx, email: string): Promise<void> {
  await lockMailAddress(tx, sha256(email))
}

/**
 * Inserts an account.
 *
 * @returns False if an account has the address already; then nothing is changed.
 * @unscoped The account did not exist before, so nobody could prove to own it.
 */
export async function insertAdmin(tx: Tx, { profile = {}, ...admin }: NewAdmin): Promise<boolean> {
  await lockAddress(tx, admin.email)
  const inserted = await tx
    .insertInto('admin')
    .values({ ...admin, profile: json(profile), passwordModifiedAt: admin.createdAt })
    .onConflict((conflict) => conflict.column('email').where('ssoId', 'is', null).doNothing())
    .returning('id')
    .executeTakeFirst()
  return inserted !== undefined
}
