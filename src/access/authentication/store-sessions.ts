import type { Tx } from '../../platform/database/db.ts'

/** Records the last use of the session, and the organizations in which it was idle for too long. */
export async function touchSession(
  tx: Tx,
  idHash: Buffer,
  { at, closedOrgIds }: { readonly at: Date; readonly closedOrgIds: readonly string[] },
): Promise<void> {
  await tx
    .updateTable('session')
    .set({ lastSeenAt: at, closedOrgIds: [...closedOrgIds] })
    .where('idHash', '=', idHash)
    .execute()
}

export async function deleteSession(tx: Tx, idHash: Buffer): Promise<void> {
  await tx.deleteFrom('session').where('idHash', '=', idHash).execute()
}
