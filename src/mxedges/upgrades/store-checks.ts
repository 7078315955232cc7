import { sql } from 'kysely'
import type { CheckedRows } from '../../rollout/gates/store-checks.ts'

/** Upgrades of edge appliances that wait for checks. */
export const mxedgeRows: CheckedRows = {
  table: 'mxedge_upgrade',
  asked: sql`
    select org_id, id, site_id, hold, null::text as of, current_phase as phase, plan, upgraded_by_phase as upgraded,
      hard_failures as failures
    from claimed`,
}
