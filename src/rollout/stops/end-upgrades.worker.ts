import { systemScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import { cancelUpgrade } from './cancel-upgrade.ts'
import { endReason } from './decide-end.ts'
import { type DueEnd, listDueEnds, claimEnd } from './store-ends.ts'

const INTERVAL_MS = 2000
const MAX_AT_ONCE = 20
/** The pause after an upgrade could not be ended. */
const REST_MS = 10_000

/** Stops upgrades whose end is reached, also one that was reached while the service was down. */
export function startEnds(ctx: Context): Poller {
  const restingUntilMs = new Map<string, number>()
  const work = () => endUpgrades(ctx, { restingUntilMs })
  return startPoller({ name: 'ends of upgrades', ctx, intervalMs: INTERVAL_MS, work })
}

interface Ends {
  /** By the ids of upgrades that could not be ended; in service time. It is changed: those that rest leave room for later ends. */
  readonly restingUntilMs?: Map<string, number>
  readonly maxAtOnce?: number
}

/** @returns True if there may be more. */
export async function endUpgrades(
  ctx: Context,
  { restingUntilMs = new Map(), maxAtOnce = MAX_AT_ONCE }: Ends = {},
): Promise<boolean> {
  const nowMs = ctx.serviceClock.nowMs()
  for (const [id, untilMs] of restingUntilMs) if (untilMs <= nowMs) restingUntilMs.delete(id)
  const except = [...restingUntilMs.keys()]
  const due = await listDueEnds(ctx.db, { now: ctx.clock.now(), except, limit: maxAtOnce })
  for (const upgrade of due) {
    try {
      await endUpgrade(ctx, upgrade)
    } catch (error) {
      // The others end all the same.
      restingUntilMs.set(upgrade.id, nowMs + REST_MS)
      ctx.log.error({ err: error, upgrade_id: upgrade.id }, 'An upgrade could not be ended')
    }
  }
  return due.length === maxAtOnce
}

async function endUpgrade(ctx: Context, { orgId, id }: DueEnd): Promise<void> {
  const scope = systemScope('rollout', orgId)
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const endsAt = await claimEnd(tx, scope, id, at)
    if (endsAt === null) return
    const reason = endReason(endsAt)
    const change = { type: 'UPGRADE_END_REACHED', upgrade_id: id, reason, message: `Upgrade ${id} ${reason}` } as const
    await cancelUpgrade(tx, scope, { id, part: null, reason, at, nowMs: ctx.serviceClock.nowMs(), change })
  })
}
