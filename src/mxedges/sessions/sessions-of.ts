import type { InOrg } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import type { Mxedge } from '../mxedge.ts'
import { type MxedgeSession, listSessions } from './store.ts'

/** Reads the sessions of all `mxedges` in one go. */
export async function sessionsOf(
  ctx: Context,
  scope: InOrg,
  mxedges: readonly Mxedge[],
): Promise<(mxedge: Mxedge) => MxedgeSession | undefined> {
  const ids = mxedges.map(({ id }) => id)
  const sessions = new Map((await listSessions(ctx.db, scope, ids)).map((session) => [session.mxedgeId, session]))
  return ({ id }) => sessions.get(id)
}
