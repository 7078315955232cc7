import { sql } from 'kysely'
import type { Tx } from '../../platform/db.ts'
import type { SessionKey } from './store.ts'

export async function insertNode(tx: Tx, nodeId: string, { at, until }: { at: Date; until: Date }): Promise<void> {
  await tx
    .insertInto('gatewayNode')
    .values({ id: nodeId, startedAt: at, leaseUntil: until })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ startedAt: at, leaseUntil: until }))
    .execute()
}

/** False when the node is gone: another one has ended its sessions. */
export async function renewLease(tx: Tx, nodeId: string, until: Date): Promise<boolean> {
  const renewed = await tx
    .updateTable('gatewayNode')
    .set({ leaseUntil: until })
    .where('id', '=', nodeId)
    .returning('id')
    .execute()
  return renewed.length > 0
}

export async function deleteNode(tx: Tx, nodeId: string): Promise<void> {
  await tx.deleteFrom('gatewayNode').where('id', '=', nodeId).execute()
}

/** Removes the nodes, other than the caller's own, whose lease has run out, and returns their ids. */
export async function deleteDeadNodes(tx: Tx, ownId: string, at: Date): Promise<string[]> {
  const dead = await tx
    .deleteFrom('gatewayNode')
    .where('leaseUntil', '<', at)
    .where('id', '<>', ownId)
    .returning('id')
    .execute()
  return dead.map(({ id }) => id)
}

/** Ends the sessions of a node that is no more, and returns them; their devices count as connected for a while. */
export async function loseSessions(tx: Tx, nodeId: string, at: Date): Promise<SessionKey[]> {
  const lost = await sql<SessionKey>`
    with locked as materialized (
      select device_id from device_session where node_id = ${nodeId} and connected
      order by device_id for update
    )
    update device_session session set connected = false, lost_at = ${at}
    from locked where session.device_id = locked.device_id
    returning session.device_id, session.epoch
  `.execute(tx)
  return lost.rows
}

/** Starts the wait for lost devices anew: nobody listened while the node was away. */
export async function extendLost(tx: Tx, nodeId: string, at: Date): Promise<void> {
  await sql`
    with locked as materialized (
      select device_id from device_session where node_id = ${nodeId} and lost_at is not null
      order by device_id for update
    )
    update device_session session set lost_at = ${at}
    from locked where session.device_id = locked.device_id
  `.execute(tx)
}

/** Takes up to `limit` devices that were lost before `lostBefore` and have not come back. */
export async function takeLost(tx: Tx, lostBefore: Date, limit: number): Promise<string[]> {
  const taken = await sql<{ deviceId: string }>`
    update device_session set lost_at = null
    where device_id in (
      select device_id from device_session where lost_at < ${lostBefore}
      order by device_id limit ${limit} for update skip locked)
    returning device_id
  `.execute(tx)
  return taken.rows.map(({ deviceId }) => deviceId)
}
