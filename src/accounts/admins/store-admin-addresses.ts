import type { InOrg } from '../../access/scope.ts'
import type { Reader } from '../../platform/database/db.ts'

/** Bounds the mails about one matter. */
const MAX_ADDRESSES = 50

/** Lists the addresses of the admins of the whole organization, sorted; at most fifty. */
export async function listAdminAddresses(reader: Reader, { orgId }: InOrg): Promise<string[]> {
  const rows = await reader
    .selectFrom('privilege')
    .innerJoin('admin', 'admin.id', 'privilege.adminId')
    .select('admin.email')
    .distinct()
    .where('privilege.orgId', '=', orgId)
    .where('privilege.scope', '=', 'org')
    .where('privilege.role', '=', 'admin')
    .orderBy('admin.email')
    .limit(MAX_ADDRESSES)
    .execute()
  return rows.map(({ email }) => email)
}
