import { type Selectable, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
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

/** A session by which an agent renews its certificate, with the key that it has proved. */
export interface RenewingAgent {
  readonly mxedgeId: string
  readonly registrationEpoch: number
  readonly keySha256: string
  /** The epoch of the appliance's session. */
  readonly epoch: string
}

/**
 * Admits another key beside the registered one.
 * @returns False if the appliance has another session by now, or another registered key.
 */
export async function updateRenewalKey(
  tx: Tx,
  { mxedgeId, registrationEpoch, keySha256, epoch }: RenewingAgent,
  renewalKey: string,
): Promise<boolean> {
  const { rows } = await sql`
    update mxedge set renewal_key = ${renewalKey}
    from mxedge_session session
    where mxedge.id = ${mxedgeId} and mxedge.registration_epoch = ${registrationEpoch}
      and mxedge.registered_key = ${keySha256}
      and session.org_id = mxedge.org_id and session.mxedge_id = mxedge.id and session.epoch = ${epoch}
    returning mxedge.id
  `.execute(tx)
  return rows.length > 0
}

/** Makes the key that an agent has renewed its certificate with the only one. */
export async function updateRenewed(
  tx: Tx,
  scope: InOrg,
  { id, keySha256, at }: { readonly id: string; readonly keySha256: string; readonly at: Date },
): Promise<void> {
  await tx
    .updateTable('mxedge')
    .set({ registeredKey: keySha256, renewalKey: null, modifiedAt: at })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
}
