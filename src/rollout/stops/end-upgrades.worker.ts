import { systemScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import { cancelUpgrade } from './cancel-upgrade.ts'
import { type DueEnd, listDueEnds, claimEnd } from './store-ends.ts'

const INTERVAL_MS = 2000
const MAX_AT_ONCE = 20

/** Stops upgrades whose end is reached, also one that was reached while the service was down. */
export function startEnds(ctx: Context): Poller {
  return startPoller({ name: 'ends of upgrades', ctx, intervalMs: INTERVAL_MS, work: () => endUpgrades(ctx) })
}

/** @returns True if there may be more. */
export async function endUpgrades(ctx: Context): Promise<boolean> {
  const due = await listDueEnds(ctx.db, ctx.clock.now(), MAX_AT_ONCE)
  let ended = 0
  for (const upgrade of due) {
    try {
      await endUpgrade(ctx, upgrade)
      ended += 1
    } catch (error) {
      // The others end all the same.
      ctx.log.error({ err: error, upgrade_id: upgrade.id }, 'An upgrade could not be ended')
    }
  }
  return ended === MAX_AT_ONCE
}

async function endUpgrade(ctx: Context, { orgId, id }: DueEnd): Promise<void> {
  const scope = systemScope('rollout', orgId)
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const endsAt = await claimEnd(tx, scope, id, at)
    if (endsAt === null) return
    const reason = `ended at its end_time, ${endsAt.toISOString()}`
    const change = { type: 'UPGRADE_END_REACHED', upgrade_id: id, reason, message: `Upgrade ${id} ${reason}` } as const
    await cancelUpgrade(tx, scope, { id, part: null, reason, at, nowMs: ctx.serviceClock.nowMs(), change })
  })
}
