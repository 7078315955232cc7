import type { OrgScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/db.ts'
import { wakeAfterCommit } from '../platform/wakes.ts'
import { resumeSiteUpgrades } from '../rollout/store-hold.ts'
import { lockOrgUpgrade } from './store.ts'

/**
 * Lets every held site upgrade go on, whether somebody paused it or too many devices of a phase failed.
 * Without any, nothing changes.
 *
 * @throws AppError not_found
 */
export async function resumeOrgUpgrade(ctx: Context, scope: OrgScope, id: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await lockOrgUpgrade(tx, scope, { id, kind: 'device' })
    if ((await resumeSiteUpgrades(tx, scope, id, ctx.serviceClock.nowMs())) === 0) return
    await appendAudit(tx, scope, { message: `Resume upgrade ${id}`, at })
    wakeAfterCommit(tx, 'rollouts')
  })
}
