import { type Selectable, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import type { MxedgeTable } from '../tables.ts'

/** There is no tenant: knowledge of the code authorizes. @param code As plainClaimCode() returns it. */
function selectByCode(tx: Tx, code: string) {
  return tx.selectFrom('mxedge').where(sql<string>`upper(replace(registration_code, '-', ''))`, '=', code)
}

/** Returns the organization that has the appliance with this registration code; undefined: none has. */
export async function findOrgByCode(tx: Tx, code: string): Promise<string | undefined> {
  const row = await selectByCode(tx, code).select('orgId').executeTakeFirst()
  return row?.orgId
}

/** Returns the appliance of the organization with this registration code, locked. The caller has locked the organization. */
export function lockMxedgeByCode(
  tx: Tx,
  { orgId, code }: { readonly orgId: string; readonly code: string },
): Promise<Selectable<MxedgeTable> | undefined> {
  return selectByCode(tx, code).selectAll().where('orgId', '=', orgId).forUpdate().executeTakeFirst()
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
