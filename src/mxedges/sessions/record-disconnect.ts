import { systemScope } from '../../access/scope.ts'
import { skipLockedRows } from '../../devices/sessions/skip-locked.ts'
import { appendMxedgeEvents } from '../../events/append-mxedge.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTxByKeys } from '../../platform/database/db.ts'
import { markMxedgeCommandsLost } from '../commands/store.ts'
import {
  type Downed,
  type MxedgeSessionKey,
  closeSessions,
  listDeadNodes,
  listLostSessions,
  lockFreeMxedges,
  markNodeLost,
} from './store.ts'

/** How long the appliances of a gateway process that stopped or died have to reconnect before they count as down. */
const GRACE_MS = 120_000

/**
 * Closes sessions whose sockets have closed, and appends the events of appliances that are therefore down. Appliances
 * that another transaction has locked are left out.
 * @param isRepeated True if one of the appliances was locked before.
 * @returns The ids of the locked appliances.
 */
export function recordMxedgeDisconnects(
  ctx: Context,
  keys: readonly MxedgeSessionKey[],
  isRepeated: boolean,
): Promise<ReadonlySet<string>> {
  const at = ctx.clock.now()
  return closeUnlocked(ctx, { keys, isRepeated }, async (tx, free) => {
    const down = await closeSessions(tx, free, at)
    await markMxedgeCommandsLost(tx, free, { at, why: 'connection_lost' })
    await appendDown(tx, down, at)
  })
}

async function closeUnlocked(
  ctx: Context,
  { keys, isRepeated }: { readonly keys: readonly MxedgeSessionKey[]; readonly isRepeated: boolean },
  close: (tx: Tx, free: readonly MxedgeSessionKey[]) => Promise<void>,
): Promise<ReadonlySet<string>> {
  const ids = keys.map(({ mxedgeId }) => mxedgeId)
  const { lockedIds } = await skipLockedRows(ctx, { ids, isRepeated, lockFree: lockFreeMxedges }, (tx, locked) =>
    close(
      tx,
      keys.filter(({ mxedgeId }) => !locked.has(mxedgeId)),
    ),
  )
  return lockedIds
}

/** Records that the process with this id has started or stopped: its earlier sessions are lost. */
export async function recordMxedgeNodeLost(ctx: Context, nodeId: string): Promise<void> {
  const at = ctx.clock.now()
  await inTxByKeys(ctx, async (tx) => {
    const lost = await markNodeLost(tx, nodeId, at)
    await markMxedgeCommandsLost(tx, lost, { at, why: 'gateway_lost' })
  })
}

/**
 * Gives up the sessions of dead processes, and marks appliances that did not come back in time as down. Of the latter,
 * those that another transaction has locked are left to the next sweep.
 */
export async function sweepLostMxedges(ctx: Context): Promise<void> {
  for (const nodeId of await listDeadNodes(ctx.db)) await recordMxedgeNodeLost(ctx, nodeId)
  const at = ctx.clock.now()
  const lost = await listLostSessions(ctx.db, at, GRACE_MS)
  if (lost.length === 0) return
  await closeUnlocked(ctx, { keys: lost, isRepeated: false }, async (tx, free) =>
    appendDown(tx, await closeSessions(tx, free, at), at),
  )
}

async function appendDown(tx: Tx, down: readonly Downed[], at: Date): Promise<void> {
  for (const [orgId, some] of Map.groupBy(down, ({ orgId: id }) => id)) {
    const events = some.map((mxedge) => ({ mxedge, type: 'ME_DISCONNECTED' as const }))
    await appendMxedgeEvents(tx, systemScope('gateway', orgId), events, at)
  }
}
