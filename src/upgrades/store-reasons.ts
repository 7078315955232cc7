import { type RawBuilder, sql } from 'kysely'
import { OFFLINE } from '../rollout/rollout.ts'

/**
 * Whether the upgrade waits for the device of `target` because it is offline. A deferred one may also be back, while the
 * upgrade is paused for instance, or connected and unable to download now.
 */
export const isOffline: RawBuilder<boolean> = sql`(target.state = 'deferred' and not exists (
  select from device_session session where session.device_id = target.device_id and session.connected))`

/** Why `target` ended, is tried again or waits. The cause of its last attempt is not what it waits for. */
export const shownReason: RawBuilder<string | null> =
  sql`case when ${isOffline} then ${sql.lit(OFFLINE)} else target.reason end`
