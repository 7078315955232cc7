import type { OrgScope } from '../access/scope.ts'
import type { Tx } from '../platform/db.ts'

/** These rows have no foreign key to their organization, so they do not go with it. */
export async function deleteDownloadsOfOrg(tx: Tx, { orgId }: OrgScope): Promise<void> {
  await tx.deleteFrom('firmwareDownload').where('orgId', '=', orgId).execute()
}
