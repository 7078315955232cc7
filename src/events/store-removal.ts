import type { OrgScope } from '../access/scope.ts'
import type { Tx } from '../platform/database/db.ts'
import { orgCodeOf } from './store-places.ts'

/** These rows have no foreign key to their organization, because every device event would have to check it. */
export async function deleteDeviceEventsOfOrg(tx: Tx, scope: OrgScope): Promise<void> {
  await tx.deleteFrom('deviceEventRow').where('org', '=', orgCodeOf(scope)).execute()
}
