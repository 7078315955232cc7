import { sql } from 'kysely'
import type { AgingRows } from '../../platform/retention.ts'

/** Commands that have ended. Those of an upgrade that goes on are what it decides by, however old. */
export const agingCommands: AgingRows = {
  table: 'device_command',
  owner: 'org_id',
  isOld: (before) => sql`finished_at < ${before} and state not in ('queued', 'sent') and not exists (
    select from site_upgrade
    where site_upgrade.org_id = device_command.org_id and site_upgrade.id = device_command.site_upgrade_id
      and site_upgrade.finished_at is null)`,
}
