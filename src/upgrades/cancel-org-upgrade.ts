import type { OrgScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { wakeAfterCommit } from '../platform/wakes.ts'
import { stopJobs } from '../rollout/store-apply.ts'
import { lockOrgUpgrade } from './store.ts'

/**
 * Lets an upgrade go no further: no device is commanded any more; those that are under way finish, and
 * those that are upgraded stay so. An upgrade that is over stays as it is.
 *
 * @throws AppError not_found
 */
export async function cancelOrgUpgrade(ctx: Context, scope: OrgScope, id: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await lockOrgUpgrade(tx, scope, id)
    const stopped = await stopJobs(tx, scope, id, {
      becomes: 'cancelled',
      reason: `cancelled by ${scope.actor.name}`,
      nowMs: ctx.serviceClock.nowMs(),
    })
    if (stopped === 0) return
    await appendAudit(tx, scope, { message: `Cancel upgrade ${id}`, at })
    wakeAfterCommit(tx, 'rollouts')
  })
}
