import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/db.ts'
import { insertAccountLogs } from '../store-log.ts'

export interface Loss {
  readonly adminIds: readonly string[]
  readonly message: string
  readonly at: Date
}

/** Writes into the accounts' own logs what took privileges from them: the organization's may be closed to them now. */
export async function recordLoss(tx: Tx, scope: InOrg, { adminIds, message, at }: Loss): Promise<void> {
  const { srcIp, userAgent, adminId: actorId } = scope.actor
  await insertAccountLogs(
    tx,
    adminIds.map((adminId) => ({
      adminId,
      message,
      // Whence another one acted is none of theirs to know.
      srcIp: adminId === actorId ? srcIp : null,
      userAgent: adminId === actorId ? userAgent : null,
      at,
    })),
  )
}
