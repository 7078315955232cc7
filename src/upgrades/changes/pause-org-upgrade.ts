import type { PlaceScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { appendUpgradeChange } from '../../rollout/events/append-events.ts'
import type { UpgradeKind } from '../../rollout/rollout.ts'
import { pauseBy } from '../../rollout/gates/approvals.ts'
import { pauseForPerson } from '../../rollout/gates/store-hold.ts'
import { lockWhole } from './lock-changed.ts'

/**
 * Pauses an upgrade until it is resumed or cancelled: no further device is commanded; devices in flight finish. Site
 * upgrades that a person has paused already, or that have ended, are not changed. One that waits at a gate waits there
 * again once it is resumed.
 *
 * @throws AppError as lockWhole().
 */
export async function pauseOrgUpgrade(
  ctx: Context,
  scope: PlaceScope,
  named: string,
  kind: UpgradeKind = 'device',
): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    const { id, place } = await lockWhole(tx, scope, { id: named, kind }, 'paused')
    const hold = pauseBy(scope.actor, { now: at, nowMs: ctx.serviceClock.nowMs() })
    if ((await pauseForPerson(tx, scope, id, hold)) === 0) return
    const paused = { type: 'UPGRADE_PAUSED', ...place, message: `Pause upgrade ${id}` } as const
    await appendUpgradeChange(tx, scope, paused, at)
    // The engine withdraws the commands that have not been sent.
    wakeAfterCommit(tx, 'rollouts')
  })
}
