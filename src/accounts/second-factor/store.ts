import type { Selectable } from 'kysely'
import type { AdminScope } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { columnsOf, insertRows } from '../../platform/database/rows.ts'
import type { AdminTable } from '../../access/tables.ts'

export type SecondFactor = Pick<Selectable<AdminTable>, 'email' | 'ssoId' | 'totpSecret' | 'totpSince' | 'totpLastStep'>

export async function lockSecondFactor(tx: Tx, { adminId }: AdminScope): Promise<SecondFactor> {
  return tx
    .selectFrom('admin')
    .select(['email', 'ssoId', 'totpSecret', 'totpSince', 'totpLastStep'])
    .where('id', '=', adminId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()
}

export async function updateSecondFactor(
  tx: Tx,
  { adminId }: AdminScope,
  change: Partial<Pick<SecondFactor, 'totpSecret' | 'totpSince' | 'totpLastStep'>>,
): Promise<void> {
  await tx.updateTable('admin').set(change).where('id', '=', adminId).execute()
}

const codeColumns = columnsOf('recoveryCode', { adminId: 'uuid', codeHash: 'bytea' })

export async function replaceRecoveryCodes(tx: Tx, { adminId }: AdminScope, hashes: readonly Buffer[]): Promise<void> {
  await tx.deleteFrom('recoveryCode').where('adminId', '=', adminId).execute()
  const codes = hashes.map((codeHash) => ({ codeHash }))
  await insertRows(tx, codeColumns, codes, { every: { adminId } })
}

/**
 * Deletes the recovery code: each works once.
 *
 * @returns True if there was such a code.
 */
export async function consumeRecoveryCode(tx: Tx, { adminId }: AdminScope, codeHash: Buffer): Promise<boolean> {
  const deleted = await tx
    .deleteFrom('recoveryCode')
    .where('adminId', '=', adminId)
    .where('codeHash', '=', codeHash)
    .returning('codeHash')
    .executeTakeFirst()
  return deleted !== undefined
}
