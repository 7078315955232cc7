import { systemScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { appendMxedgeEvents } from '../../events/append-mxedge.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { type Mxedge, mxedgeOfEvent, titleOf } from '../mxedge.ts'
import { type RenewingAgent, updateRenewalKey, updateRenewed } from './store.ts'

/**
 * Admits another key for the next certificate of an agent. The present key counts until an agent has connected with the
 * next one, so a lost answer doesn't lock the agent out.
 * @returns False if the session no longer counts.
 */
export function renewCertificate(ctx: Context, agent: RenewingAgent, renewalKey: string): Promise<boolean> {
  return inTx(ctx, (tx) => updateRenewalKey(tx, agent, renewalKey))
}

/** Ends the former key of an appliance whose agent has connected with the one of its next certificate. */
export async function recordRenewed(
  tx: Tx,
  mxedge: Mxedge,
  { keySha256, at }: { readonly keySha256: string; readonly at: Date },
): Promise<void> {
  const scope = systemScope('gateway', mxedge.orgId)
  await updateRenewed(tx, scope, { id: mxedge.id, keySha256, at })
  const auditId = await appendAudit(tx, scope, {
    message: `The agent of ${titleOf(mxedge)} renewed its certificate`,
    siteId: mxedge.siteId,
    before: { key_sha256: mxedge.registeredKey, mxedge_id: mxedge.id },
    after: { key_sha256: keySha256, mxedge_id: mxedge.id },
    at,
  })
  const event = { mxedge: mxedgeOfEvent(mxedge), type: 'ME_CERTIFICATE_RENEWED' as const, auditId }
  await appendMxedgeEvents(tx, scope, [event], at)
}
