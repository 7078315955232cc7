import { sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { SupportCommand, SupportSource } from '../../devices/support/source.ts'
import type { FilesOf } from '../../devices/support/store.ts'

/** The files of an edge appliance. */
export function filesOfMxedge(scope: SitesScope, mxedgeId: string): FilesOf {
  return sql`support_file file
    join mxedge_command command on command.org_id = file.org_id and command.id = file.mxedge_command_id
    join mxedge on mxedge.org_id = command.org_id and mxedge.id = command.mxedge_id
    where file.org_id = ${scope.orgId} and command.mxedge_id = ${mxedgeId}
      and ${inSites(scope, sql.ref('mxedge.site_id'))}`
}

/** The commands to edge appliances, whose agents repeat commands that a crash has interrupted. */
export const mxedgeSupport: SupportSource = {
  ofMxedge: true,
  async findCommand(reader, scope, commandId) {
    const { rows } = await sql<Omit<SupportCommand, 'machineIs'>>`
      select command.state, null as device_id, mxedge.id as machine, mxedge.site_id, file.name as file,
        'Edge appliance "' || mxedge.name || '"' as title, file.bytes::float8 as bytes, true as may_repeat
      from mxedge_command command
      join mxedge on mxedge.org_id = command.org_id and mxedge.id = command.mxedge_id
      left join support_file file on file.org_id = command.org_id and file.mxedge_command_id = command.id
      where command.org_id = ${scope.orgId} and command.id = ${commandId} and command.kind = 'support'
    `.execute(reader)
    return rows[0] && { ...rows[0], machineIs: 'the id of the edge appliance' }
  },
  async shareCommand(tx, scope, commandId) {
    const { rows } = await sql`
      select from mxedge_command where org_id = ${scope.orgId} and id = ${commandId} for key share`.execute(tx)
    return rows.length > 0
  },
}
