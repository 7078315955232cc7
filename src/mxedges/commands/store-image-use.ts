import { sql } from 'kysely'
import type { OrgScope } from '../../access/scope.ts'
import { usedByCommand } from '../../firmware/firmware.ts'
import type { Tx } from '../../platform/database/db.ts'

/** As FindImageUser: the reason is a command that has not ended and will download the image. */
export async function findCommandWithImage(tx: Tx, scope: OrgScope, imageId: string): Promise<string | null> {
  const open = await tx
    .selectFrom('mxedgeCommand')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('kind', 'in', ['stage_package', 'upgrade_service'])
    .where('state', 'in', ['queued', 'sent'])
    .where(sql`params ->> 'image_id'`, '=', imageId)
    .limit(1)
    .execute()
  return open.length > 0 ? usedByCommand('an edge appliance') : null
}
