import { systemScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx, inUnflushedTx } from '../../platform/database/db.ts'
import { listMxedgesById } from '../commands/store.ts'
import { appendServiceChanges } from './append-service-changes.ts'
import { listServiceChanges } from './decide-service-changes.ts'
import type { ReportedMxedge } from './facts.ts'
import { type MxedgeSessionKey, findSession, updateReport } from './store.ts'

/**
 * Records an agent's periodic report, and the changes of services that it shows; a report of a session that another one
 * has replaced is ignored. The reports of a session must come one after the other.
 */
export async function recordMxedgeReport(ctx: Context, key: MxedgeSessionKey, reported: ReportedMxedge): Promise<void> {
  const at = ctx.clock.now()
  const session = await findSession(ctx.db, key)
  if (session === undefined) return
  const changes = listServiceChanges(session.report?.services ?? [], reported.report.services)
  if (changes.length === 0) {
    await inUnflushedTx(ctx, (tx) => updateReport(tx, key, { ...reported, at }))
    return
  }
  await inTx(ctx, async (tx) => {
    if (!(await updateReport(tx, key, { ...reported, at }))) return
    const [mxedge] = await listMxedgesById(tx, [session.mxedgeId])
    const scope = systemScope('gateway', session.orgId)
    if (mxedge !== undefined) await appendServiceChanges(tx, scope, mxedge, { changes, since: session.lastSeenAt, at })
  })
}
