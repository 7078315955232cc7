import type { OrgScope } from '../access/scope.ts'
import type { Tx } from '../platform/db.ts'

/** These rows have no foreign key to their organization, which every event of a device would check. */
export async function deleteDeviceEventsOfOrg(tx: Tx, { orgId }: OrgScope): Promise<void> {
  await tx.deleteFrom('deviceEvent').where('orgId', '=', orgId).execute()
}
