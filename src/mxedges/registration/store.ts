import { type Selectable, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/db.ts'
import type { MxedgeTable } from '../tables.ts'

/**
 * Returns the appliance with this registration code, locked. There is no tenant: knowledge of the code authorizes.
 * @param code As plainClaimCode() returns it.
 */
export function lockMxedgeByCode(tx: Tx, code: string): Promise<Selectable<MxedgeTable> | undefined> {
  return tx
    .selectFrom('mxedge')
    .selectAll()
    .where(sql<string>`upper(replace(registration_code, '-', ''))`, '=', code)
    .forUpdate()
    .executeTakeFirst()
}

/** Records which key has registered as the appliance. */
export async function updateRegistered(
  tx: Tx,
  scope: InOrg,
  { id, keySha256, at }: { readonly id: string; readonly keySha256: string; readonly at: Date },
): Promise<void> {
  await tx
    .updateTable('mxedge')
    .set({ registeredKey: keySha256, registeredAt: at, modifiedAt: at })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
}
