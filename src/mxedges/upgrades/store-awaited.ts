import { type RawBuilder, sql } from 'kysely'
import { epochS } from '../../platform/time/clock.ts'
import type { MxedgeUpgradeNote } from './upgrade.ts'

/**
 * The number of appliances of other upgrades that `mxedge_upgrade` awaits, also once it has ended, but not after its `end_time`. It
 * does not count those that were deleted or have left its site, whose notes its next search deletes.
 */
export const awaitedCount = (now: Date): RawBuilder<number> => sql`(
  select count(*)::integer from jsonb_array_elements(mxedge_upgrade.notes) as note
  join mxedge on mxedge.org_id = mxedge_upgrade.org_id and mxedge.id = (note->>'mxedge_id')::uuid
  where mxedge_upgrade.include_due_ms is not null and mxedge_upgrade.stopping is null
    and (mxedge_upgrade.plan->>'ends_s')::float8 > ${epochS(now)} is not false
    and note->>'kind' = ${'in_another_upgrade' satisfies MxedgeUpgradeNote['kind']}
    and (mxedge_upgrade.site_id is null or mxedge.site_id = mxedge_upgrade.site_id))`
