import type { Tx } from '../platform/db.ts'

/** Records the last use of the session. */
export async function touchSession(tx: Tx, idHash: Buffer, at: Date): Promise<void> {
  await tx.updateTable('session').set({ lastSeenAt: at }).where('idHash', '=', idHash).execute()
}

export async function deleteSession(tx: Tx, idHash: Buffer): Promise<void> {
  await tx.deleteFrom('session').where('idHash', '=', idHash).execute()
}
