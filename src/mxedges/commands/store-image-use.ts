import { sql } from 'kysely'
import type { OrgScope } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'

/** True if a command that has not ended will download the image. */
export async function isImageOfOpenCommand(tx: Tx, scope: OrgScope, imageId: string): Promise<boolean> {
  const open = await tx
    .selectFrom('mxedgeCommand')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('kind', 'in', ['stage_package', 'upgrade_service'])
    .where('state', 'in', ['queued', 'sent'])
    .where(sql`params ->> 'image_id'`, '=', imageId)
    .limit(1)
    .execute()
  return open.length > 0
}
