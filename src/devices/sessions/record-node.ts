import { addMs } from '../../platform/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/db.ts'
import { applyDisconnections } from './record-disconnect.ts'
import { loseCommands } from '../commands/store.ts'
import {
  deleteDeadNodes,
  deleteNode,
  extendLost,
  insertNode,
  loseSessions,
  renewLease,
  takeLost,
} from './store-nodes.ts'

/** A gateway process that has not renewed for this long is dead. */
const LEASE_MS = 30_000
/** Devices of a restarted process that come back within this time have not been away, as far as anybody is told. */
const GRACE_MS = 60_000
const LOST_PER_SWEEP = 1000

/** Registers a gateway process and ends what its former self, which had the same id, left behind. */
export async function recordNodeStarted(ctx: Context, nodeId: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await insertNode(tx, nodeId, { at, until: addMs(at, LEASE_MS) })
    await abandonSessions(tx, nodeId, at)
    await extendLost(tx, nodeId, at)
  })
}

/** The process ends and has closed its sockets. */
export async function recordNodeStopped(ctx: Context, nodeId: string): Promise<void> {
  await inTx(ctx, async (tx) => {
    await abandonSessions(tx, nodeId, ctx.clock.now())
    await deleteNode(tx, nodeId)
  })
}

/** False when the lease was lost: the node's sessions are no longer its own. */
export function recordNodeAlive(ctx: Context, nodeId: string): Promise<boolean> {
  return inTx(ctx, (tx) => renewLease(tx, nodeId, addMs(ctx.clock.now(), LEASE_MS)))
}

/** Ends the sessions of other nodes that are dead. */
export async function sweepDeadNodes(ctx: Context, ownId: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    for (const nodeId of await deleteDeadNodes(tx, ownId, at)) await abandonSessions(tx, nodeId, at)
  })
}

/** Calls those devices disconnected that have not come back since their node went away. */
export async function sweepLostDevices(ctx: Context): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const lost = await takeLost(tx, addMs(at, -GRACE_MS), LOST_PER_SWEEP)
    if (lost.length > 0) await applyDisconnections(tx, lost, at)
  })
}

async function abandonSessions(tx: Tx, nodeId: string, at: Date): Promise<void> {
  await loseCommands(tx, await loseSessions(tx, nodeId, at), { at, why: 'gateway_lost' })
}
