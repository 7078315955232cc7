import { sql } from 'kysely'
import { UUID } from 'uuidv7'
import type { AgingRows } from '../../platform/database/retention.ts'

/**
 * Commands that have ended. The engine of upgrades may still need some of them: see rollout/store-retention.ts. Only their key
 * is in the order of time.
 */
export const endedCommands: AgingRows = {
  table: 'device_command',
  owner: 'org_id',
  isOld: (before) =>
    sql`id < ${firstIdAt(before)}::uuid and finished_at < ${before} and state not in ('queued', 'sent')`,
}

/** Ids of version 7 begin with the time at which they were made. */
function firstIdAt(time: Date): string {
  return UUID.fromFieldsV7(Math.max(0, time.getTime()), 0, 0, 0).toString()
}
