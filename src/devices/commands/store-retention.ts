import { sql } from 'kysely'
import type { AgingRows } from '../../platform/retention.ts'

/** Commands that have ended. Those of an upgrade that goes on are what it decides by, however old. */
export const agingCommands: AgingRows = {
  table: 'device_command',
  owner: 'org_id',
  isOld: (before) => sql`finished_at < ${before} and state not in ('queued', 'sent') and not exists (
    select from site_upgrade job
    where job.org_id = device_command.org_id and job.id = device_command.job_id and job.finished_at is null)`,
}
