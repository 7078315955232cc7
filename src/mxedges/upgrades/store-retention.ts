import { sql } from 'kysely'
import type { AgingRows } from '../../platform/database/retention.ts'

/** Ended upgrades of edge appliances, with their targets, which are deleted in cascade. */
export const agingMxedgeUpgrades: AgingRows = {
  table: 'mxedge_upgrade',
  owner: 'org_id',
  isOld: (before) => sql`finished_at < ${before}`,
}
