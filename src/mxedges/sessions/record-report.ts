import type { Context } from '../../platform/context.ts'
import { inUnflushedTx } from '../../platform/db.ts'
import type { ReportedMxedge } from './facts.ts'
import { type MxedgeSessionKey, updateReport } from './store.ts'

/** Records an agent's periodic report; a report of a session that another one has replaced is ignored. */
export async function recordMxedgeReport(ctx: Context, key: MxedgeSessionKey, reported: ReportedMxedge): Promise<void> {
  await inUnflushedTx(ctx, (tx) => updateReport(tx, key, { ...reported, at: ctx.clock.now() }))
}
