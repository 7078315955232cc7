import { sql } from 'kysely'
import type { Document } from '../../platform/json/document.ts'
import type { Tx } from '../../platform/database/db.ts'
import { isPulled, orderOf } from '../delivery-options.ts'
import type { LaneKey } from './store.ts'

/**
 * Updates the delivery mode of the lane of a webhook. A process that has the lane loses it if the mode changes, and
 * the next replay begins at once: a receiver that fetches has not kept to the times of former ones.
 * The lane must be new, or have been locked by lockLanes(); then rescheduleLanes() must follow.
 */
export async function updateLaneModes(tx: Tx, { orgId, webhookId }: LaneKey, doc: Document): Promise<void> {
  const [keyed, pulled] = [orderOf(doc) === 'device', isPulled(doc)]
  await tx
    .updateTable('webhookLane')
    .set({ keyed, pulled, replaysUntil: null, leaseUntil: null, leasedBy: null, epoch: sql`epoch + 1` })
    .where('orgId', '=', orgId)
    .where('webhookId', '=', webhookId)
    .where((eb) => eb.or([eb('keyed', '!=', keyed), eb('pulled', '!=', pulled)]))
    .execute()
}
