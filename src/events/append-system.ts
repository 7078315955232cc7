import type { InOrg } from '../access/scope.ts'
import type { Tx } from '../platform/database/db.ts'
import { type NewSystemEvent, insertSystemEvents } from './store-system.ts'

export type SystemEventInput = Pick<NewSystemEvent, 'type' | 'text'> &
  Partial<Pick<NewSystemEvent, 'siteId' | 'once' | 'details'>>

/** Appends an event about the service itself in the transaction of the change that it reports. */
export async function appendSystemEvent(
  tx: Tx,
  { orgId }: InOrg,
  { siteId = null, once = null, details = {}, ...event }: SystemEventInput,
  at: Date,
): Promise<void> {
  await insertSystemEvents(tx, [{ ...event, orgId, siteId, once, details }], at)
}
