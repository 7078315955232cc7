import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { insertAccountLogs } from '../store-log.ts'

export interface Loss {
  readonly adminIds: readonly string[]
  readonly message: string
  readonly at: Date
}

/**
 * Records in the accounts' own logs why they lost privileges: they may no longer be able to read the organization's
 * log.
 */
export async function recordLoss(tx: Tx, scope: InOrg, { adminIds, message, at }: Loss): Promise<void> {
  const { srcIp, userAgent, adminId: actorId } = scope.actor
  await insertAccountLogs(
    tx,
    adminIds.map((adminId) => ({
      adminId,
      message,
      // Don't reveal another admin's IP address.
      srcIp: adminId === actorId ? srcIp : null,
      userAgent: adminId === actorId ? userAgent : null,
      at,
    })),
  )
}
