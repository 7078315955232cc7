import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Tx } from '../../platform/database/db.ts'
import type { WirePrivilege } from '../../access/tables.ts'
import { insertAccountLogs } from '../store-log.ts'

export interface PrivilegeChange {
  readonly adminId: string
  readonly message: string
  readonly before: readonly WirePrivilege[]
  readonly after: readonly WirePrivilege[]
  readonly at: Date
}

/**
 * Records a change of an admin's privileges in one organization: in its audit log and in the account's own log, but not
 * in the logs of the admin's other organizations, which it does not concern.
 */
export async function recordPrivileges(tx: Tx, scope: OrgScope, change: PrivilegeChange): Promise<void> {
  const { adminId, message, before, after, at } = change
  const entry = { message, before: { privileges: before }, after: { privileges: after }, at }
  const { srcIp, userAgent } = scope.actor
  await insertAccountLogs(tx, [{ adminId, srcIp, userAgent, ...entry }])
  await appendAudit(tx, scope, entry)
}
