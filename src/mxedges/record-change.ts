import type { InOrg } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import { appendMxedgeEvents } from '../events/append-mxedge.ts'
import type { Tx } from '../platform/database/db.ts'
import { type Mxedge, mxedgeOfEvent } from './mxedge.ts'

export interface MxedgeChange {
  readonly mxedge: Mxedge
  /** Text of the audit record. */
  readonly message: string
  /** Text of the event. */
  readonly text: string
  /** Without secrets. */
  readonly before?: Record<string, unknown>
  readonly after?: Record<string, unknown>
  readonly at: Date
}

/** Appends the audit record and the event of a person's change, in the transaction of the change. */
export async function recordChange(tx: Tx, scope: InOrg, change: MxedgeChange): Promise<void> {
  const { mxedge, message, text, before, after, at } = change
  const { siteId } = mxedge
  const auditId = await appendAudit(tx, scope, {
    message,
    siteId,
    ...(before && { before: { ...before, mxedge_id: mxedge.id } }),
    ...(after && { after: { ...after, mxedge_id: mxedge.id } }),
    at,
  })
  const event = { mxedge: mxedgeOfEvent(mxedge), type: 'ME_CONFIG_CHANGED_BY_USER' as const, auditId, text }
  await appendMxedgeEvents(tx, scope, [event], at)
}
