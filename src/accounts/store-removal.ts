import type { OrgScope } from '../access/scope.ts'
import type { Tx } from '../platform/database/db.ts'

/** Deletes the accounts that the organization's identity providers vouch for. */
export async function deleteSsoAdminsOfOrg(tx: Tx, { orgId }: OrgScope): Promise<void> {
  const ssoIds = tx.selectFrom('sso').select('id').where('orgId', '=', orgId)
  await tx.deleteFrom('admin').where('ssoId', 'in', ssoIds).execute()
}
