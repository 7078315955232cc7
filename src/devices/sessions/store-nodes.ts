import { sql } from 'kysely'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import type { SessionKey } from './store.ts'

export async function insertNode(tx: Tx, nodeId: string, { at, until }: { at: Date; until: Date }): Promise<void> {
  await tx
    .insertInto('gatewayNode')
    .values({ id: nodeId, startedAt: at, leaseUntil: until })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ startedAt: at, leaseUntil: until }))
    .execute()
}

/** Returns the time until which the node was certainly alive; undefined = there is no such node. */
export async function findLease(tx: Tx, nodeId: string): Promise<Date | undefined> {
  const row = await tx.selectFrom('gatewayNode').select('leaseUntil').where('id', '=', nodeId).executeTakeFirst()
  return row?.leaseUntil
}

/** False when the row is gone because another node has closed its sessions. */
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

/** Deletes the nodes, except the caller's own, whose lease has expired. */
export function deleteDeadNodes(tx: Tx, ownId: string, at: Date): Promise<{ id: string; leaseUntil: Date }[]> {
  return tx
    .deleteFrom('gatewayNode')
    .where('leaseUntil', '<', at)
    .where('id', '<>', ownId)
    .returning(['id', 'leaseUntil'])
    .execute()
}

/** Marks the sessions of a dead node as lost, and returns them; their devices count as connected for a while. */
export async function markSessionsLost(tx: Tx, nodeId: string, at: Date): Promise<SessionKey[]> {
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

/** Counts the lost devices that have not come back, and returns when the first of them was lost. */
export async function countLost(reader: Reader): Promise<{ lost: number; since: Date | null }> {
  const { lost, since } = await reader
    .selectFrom('deviceSession')
    .select(({ fn }) => [fn.countAll<string>().as('lost'), fn.min('lostAt').as('since')])
    .where('lostAt', 'is not', null)
    .executeTakeFirstOrThrow()
  return { lost: Number(lost), since }
}

/** Lists the last sessions of the lost devices. */
export function listLostSessions(reader: Reader): Promise<SessionKey[]> {
  return reader.selectFrom('deviceSession').select(['deviceId', 'epoch']).where('lostAt', 'is not', null).execute()
}

/** Lists up to `limit` lost devices, in any order: some may be locked for long. */
export async function listLost(reader: Reader, limit: number): Promise<string[]> {
  const { rows } = await sql<{ deviceId: string }>`
    select device_id from device_session where lost_at is not null order by random() limit ${limit}
  `.execute(reader)
  return rows.map(({ deviceId }) => deviceId)
}

/**
 * Marks those of the devices that are still lost as disconnected, and returns them. `atMs`: the service time of the
 * disconnection.
 */
export async function markLostDisconnected(
  tx: Tx,
  { deviceIds, atMs }: { readonly deviceIds: readonly string[]; readonly atMs: number },
): Promise<string[]> {
  const taken = await sql<{ deviceId: string }>`
    update device_session set lost_at = null, disconnected_ms = ${atMs}
    where device_id in (
      select device_id from device_session where device_id = ${anyOf(deviceIds)} and lost_at is not null
      order by device_id for update)
    returning device_id
  `.execute(tx)
  return taken.rows.map(({ deviceId }) => deviceId)
}
