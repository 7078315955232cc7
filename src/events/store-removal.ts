import type { OrgScope } from '../access/scope.ts'
import type { Tx } from '../platform/database/db.ts'

/** These rows have no foreign key to their organization, because every device event would have to check it. */
export async function deleteDeviceEventsOfOrg(tx: Tx, { orgId }: OrgScope): Promise<void> {
  await tx.deleteFrom('deviceEvent').where('orgId', '=', orgId).execute()
}
