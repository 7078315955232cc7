import { sql } from 'kysely'
import type { AgingRows } from '../../platform/retention.ts'

/** Commands to edge appliances that have ended. */
export const agingMxedgeCommands: AgingRows = {
  table: 'mxedge_command',
  owner: 'org_id',
  isOld: (before) => sql`finished_at < ${before} and state not in ('queued', 'sent')`,
}
