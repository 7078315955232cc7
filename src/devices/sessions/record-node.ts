import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { applyDisconnections } from './record-disconnect.ts'
import { type Grace, updateGrace } from './decide-grace.ts'
import { recordCommandsLost } from '../commands/append-ended.ts'
import { scatterCallIds } from '../commands/store-lost.ts'
import { skipLocked } from './skip-locked.ts'
import {
  countLost,
  deleteDeadNodes,
  deleteNode,
  findLease,
  insertNode,
  listLost,
  listLostSessions,
  markSessionsLost,
  renewLease,
  markLostDisconnected,
} from './store-nodes.ts'

/** A gateway process that has not renewed its lease for this long is dead. */
const LEASE_MS = 30_000
const LOST_PER_SWEEP = 1000

/** Registers a gateway process, and closes the sessions that a former process with the same id left open. */
export async function recordNodeStarted(ctx: Context, nodeId: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await scatterCallIds(tx)
    const lease = await findLease(tx, nodeId)
    await insertNode(tx, nodeId, { at, until: addMs(at, LEASE_MS) })
    await markSessionsLost(tx, nodeId, lostAt(lease, at))
    // An upgrade may have committed commands as sent while the former process stopped and closed its sessions.
    await recordCommandsLost(tx, await listLostSessions(tx), { at, why: 'gateway_lost' })
  })
}

/** Records that the process ends and has closed its sockets. */
export async function recordNodeStopped(ctx: Context, nodeId: string): Promise<void> {
  await inTx(ctx, async (tx) => {
    const at = ctx.clock.now()
    await abandonSessions(tx, nodeId, { at, lostAt: at })
    await deleteNode(tx, nodeId)
  })
}

/** False when the lease was lost: the node's sessions are no longer its own. */
export function recordNodeAlive(ctx: Context, nodeId: string): Promise<boolean> {
  return inTx(ctx, (tx) => renewLease(tx, nodeId, addMs(ctx.clock.now(), LEASE_MS)))
}

/** Closes the sessions of other nodes that are dead. */
export async function sweepDeadNodes(ctx: Context, ownId: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    for (const { id, leaseUntil } of await deleteDeadNodes(tx, ownId, at))
      await abandonSessions(tx, id, { at, lostAt: lostAt(leaseUntil, at) })
  })
}

/**
 * Marks lost devices that have not come back in time as disconnected (see Grace). Devices that come back before do not
 * count as having been away. Those that another transaction has locked are left to the next sweep.
 * @param now Monotonic milliseconds: setting the wall clock ends no grace.
 */
export function createLostDevicesSweep(ctx: Context, now: () => number): () => Promise<void> {
  let grace: Grace | null = null
  return async () => {
    const at = ctx.clock.now()
    const { lost, since } = await countLost(ctx.db)
    grace = updateGrace(grace, { lost, outageMs: since === null ? 0 : at.getTime() - since.getTime() }, now())
    if (grace?.isOver !== true) return
    const atMs = ctx.serviceClock.nowMs()
    const deviceIds = await listLost(ctx.db, LOST_PER_SWEEP)
    if (deviceIds.length === 0) return
    await skipLocked(ctx, { deviceIds, isRepeated: false }, async (tx, locked) => {
      const free = deviceIds.filter((id) => !locked.has(id))
      await applyDisconnections(tx, await markLostDisconnected(tx, { deviceIds: free, atMs }), at)
    })
  }
}

/** Returns the last time at which the node was certainly alive. Its devices may have been retrying since then. */
function lostAt(leaseUntil: Date | undefined, at: Date): Date {
  if (leaseUntil === undefined) return at
  const aliveAt = addMs(leaseUntil, -LEASE_MS)
  return aliveAt < at ? aliveAt : at
}

async function abandonSessions(tx: Tx, nodeId: string, times: { at: Date; lostAt: Date }): Promise<void> {
  const lost = await markSessionsLost(tx, nodeId, times.lostAt)
  await recordCommandsLost(tx, lost, { at: times.at, why: 'gateway_lost' })
}
