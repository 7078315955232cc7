import { type RawBuilder, sql } from 'kysely'
import { lastReasonPattern } from '../rollout/targets/timeline.ts'

const lastCause = lastReasonPattern('rolling_back')

/**
 * Why the device of `target` was restored; null if it was not. While that is under way, its reason is that. The timeline is
 * read only where it was.
 */
export const restoreReason: RawBuilder<string | null> = sql`case
  when target.state = 'failed' and target.reason in ('rolled_back', 'rolled_back_unstable', 'rollback_failed')
  then substring(target.timeline from ${sql.lit(lastCause)}) end`
