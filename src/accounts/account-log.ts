import type { Actor } from '../access/scope.ts'
import { actorScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Tx } from '../platform/database/db.ts'
import { insertAccountLogs, listOrgIdsOfAdmin } from './store-log.ts'

/** A change of an account. `before` and `after` never hold secrets. */
export interface AccountChange {
  readonly adminId: string
  /** The author of the change: mostly the admin themselves. */
  readonly actor: Actor
  readonly message: string
  readonly before?: Record<string, unknown>
  readonly after?: Record<string, unknown>
  readonly at: Date
}

/**
 * Records a change of an account in the caller's transaction: in the account's own log, and in the audit log of every
 * organization that the admin belongs to, because its administrators answer for the admin.
 */
export async function appendAccountChange(tx: Tx, change: AccountChange): Promise<void> {
  const { adminId, actor, ...entry } = change
  await insertAccountLogs(tx, [{ adminId, srcIp: actor.srcIp, userAgent: actor.userAgent, ...entry }])
  for (const orgId of await listOrgIdsOfAdmin(tx, adminId)) await appendAudit(tx, actorScope(actor, orgId), entry)
}
