import { sql } from 'kysely'
import type { AgingRows } from '../platform/database/retention.ts'

/**
 * Downloads whose command no longer exists. While it exists, the fence of its download applies; the signed address has
 * expired long before the command is deleted.
 */
export const agingDownloads: AgingRows = {
  table: 'firmware_download',
  owner: 'org_id',
  isOld: (before) => sql`touched_at < ${before} and not exists (
    select from device_command command
    where command.org_id = firmware_download.org_id and command.id = firmware_download.command_id)`,
}
