import { sql } from 'kysely'
import type { AgingRows } from '../../platform/database/retention.ts'

/** Commands to edge appliances that have ended, except those of a running upgrade, which still decides by them. */
export const agingMxedgeCommands: AgingRows = {
  table: 'mxedge_command',
  owner: 'org_id',
  isOld: (before) => sql`finished_at < ${before} and state not in ('queued', 'sent') and not exists (
    select from mxedge_upgrade
    where mxedge_upgrade.org_id = mxedge_command.org_id and mxedge_upgrade.id = mxedge_command.upgrade_id
      and mxedge_upgrade.finished_at is null)`,
}
