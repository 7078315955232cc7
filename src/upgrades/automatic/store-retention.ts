import { sql } from 'kysely'
import type { AgingRows } from '../../platform/database/retention.ts'
import { agingCommands as ofUpgrades } from '../../rollout/store-retention.ts'

/** Those of the engine, except the refusals for good because of which a version is not given to further devices: see listFailures(). */
export const agingCommands: AgingRows = {
  ...ofUpgrades,
  isOld: (before) => sql`${ofUpgrades.isOld(before)} and not exists (
    select from site_upgrade part
      join site_auto_upgrade auto on auto.org_id = part.org_id and auto.site_id = part.site_id
    where part.org_id = device_command.org_id and part.id = device_command.site_upgrade_id
      and part.id = any(auto.failed_ids || auto.upgrade_id) and device_command.outcome @> '{"final": true}')`,
}
