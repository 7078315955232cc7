import type { OrgScope } from '../access/scope.ts'
import type { Tx } from '../platform/database/db.ts'

/** These rows have no foreign key to their organization, so its deletion does not cascade to them. */
export async function deleteDownloadsOfOrg(tx: Tx, { orgId }: OrgScope): Promise<void> {
  await tx.deleteFrom('firmwareDownload').where('orgId', '=', orgId).execute()
}
