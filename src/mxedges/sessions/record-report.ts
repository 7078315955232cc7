import { systemScope } from '../../access/scope.ts'
import { skipLockedRows } from '../../devices/sessions/skip-locked.ts'
import type { Context } from '../../platform/context.ts'
import { inTx, inUnflushedTx } from '../../platform/database/db.ts'
import { listMxedgesById } from '../commands/store.ts'
import { appendServiceChanges } from './append-service-changes.ts'
import { listServiceChanges } from './decide-service-changes.ts'
import type { ReportedMxedge } from './facts.ts'
import { type MxedgeSessionKey, findSession, lockFreeMxedges, updateReport } from './store.ts'

/**
 * Records an agent's periodic report, and the changes of services that it shows; a report of a session that another one
 * has replaced is ignored. The reports of a session must come one after the other.
 * @param isRepeated True if the appliance was locked before.
 * @returns False if another transaction has locked the appliance: nothing is recorded.
 */
export async function recordMxedgeReport(
  ctx: Context,
  key: MxedgeSessionKey,
  { isRepeated, ...reported }: ReportedMxedge & { readonly isRepeated: boolean },
): Promise<boolean> {
  const at = ctx.clock.now()
  const session = await findSession(ctx.db, key)
  if (session === undefined) return true
  const changes = listServiceChanges(session.report?.services ?? [], reported.report.services)
  const inTransaction = changes.length === 0 ? inUnflushedTx : inTx
  const batch = { ids: [key.mxedgeId], isRepeated, lockFree: lockFreeMxedges, inTransaction }
  const { lockedIds } = await skipLockedRows(ctx, batch, async (tx) => {
    if (!(await updateReport(tx, key, { ...reported, at })) || changes.length === 0) return
    const [mxedge] = await listMxedgesById(tx, [session.mxedgeId])
    const scope = systemScope('gateway', session.orgId)
    if (mxedge !== undefined) await appendServiceChanges(tx, scope, mxedge, { changes, since: session.lastSeenAt, at })
  })
  return lockedIds.size === 0
}
