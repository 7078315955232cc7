import { type RawBuilder, sql } from 'kysely'
import { lastReasonPattern } from '../rollout/targets/timeline.ts'

/** The reasons of devices whose backup version was restored, or was to be. */
const reasons = ['rolled_back', 'rolled_back_unstable', 'rollback_failed'] as const

export function isRestored(reason: string | null): boolean {
  return reasons.some((one) => one === reason)
}

const lastCause = lastReasonPattern('rolling_back')

/**
 * Why the device of `target` was restored; null if it was not. During the restore, the reason of the target is the cause. The
 * timeline is read only for restored devices.
 */
export const restoreReason: RawBuilder<string | null> = sql`case
  when target.state = 'failed' and target.reason in (${sql.join(reasons.map((reason) => sql.lit(reason)))})
  then substring(target.timeline from ${sql.lit(lastCause)}) end`
