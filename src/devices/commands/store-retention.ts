import { sql } from 'kysely'
import type { AgingRows } from '../../platform/database/retention.ts'

/** Commands that have ended. The engine of upgrades may still need some of them: see rollout/store-retention.ts. */
export const endedCommands: AgingRows = {
  table: 'device_command',
  owner: 'org_id',
  isOld: (before) => sql`finished_at < ${before} and state not in ('queued', 'sent')`,
}
