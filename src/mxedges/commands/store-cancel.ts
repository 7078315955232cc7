import type { InOrg } from '../../access/scope.ts'
import { type Tx, anyOf } from '../../platform/database/db.ts'
import type { MxedgeOrder } from './command.ts'

/** Withdraws those of the commands that are still queued. */
export async function cancelQueuedById(
  tx: Tx,
  scope: InOrg,
  { ids, at }: { readonly ids: readonly string[]; readonly at: Date },
): Promise<void> {
  if (ids.length === 0) return
  await cancelQueuedOf(tx, scope, at).where('id', '=', anyOf(ids)).execute()
}

/** Withdraws queued commands of this kind, which a newer one replaces. */
export async function cancelQueued(
  tx: Tx,
  scope: InOrg,
  { mxedgeId, kind, at }: { readonly mxedgeId: string; readonly kind: MxedgeOrder['kind']; readonly at: Date },
): Promise<void> {
  await cancelQueuedOf(tx, scope, at).where('mxedgeId', '=', mxedgeId).where('kind', '=', kind).execute()
}

/** Withdraws all commands that were not sent yet to the appliance that another one is to replace. */
export async function cancelAllQueued(
  tx: Tx,
  scope: InOrg,
  { mxedgeId, at }: { readonly mxedgeId: string; readonly at: Date },
): Promise<void> {
  await cancelQueuedOf(tx, scope, at).where('mxedgeId', '=', mxedgeId).execute()
}

function cancelQueuedOf(tx: Tx, scope: InOrg, at: Date) {
  return tx
    .updateTable('mxedgeCommand')
    .set({ state: 'cancelled', finishedAt: at })
    .where('orgId', '=', scope.orgId)
    .where('state', '=', 'queued')
}
