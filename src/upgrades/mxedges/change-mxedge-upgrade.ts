import type { PlaceScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import {
  type MxedgeUpgrade,
  lockUpgrade,
  pauseUpgrade,
  resumeUpgrade,
  stopUpgrade,
} from '../../mxedges/upgrades/store-records.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import type { UpgradeHold } from '../../rollout/rollout.ts'

/**
 * Stops an upgrade. After the commit no appliance is commanded; those in flight finish their step. An upgrade that has
 * ended is not changed.
 * @throws AppError not_found
 */
export function cancelMxedgeUpgrade(ctx: Context, scope: PlaceScope, id: string): Promise<void> {
  return changeUpgrade(ctx, scope, {
    id,
    verb: 'Cancel',
    concerns: ({ finishedAt, stopping }) => finishedAt === null && stopping === null,
    change: (tx, upgrade) => stopUpgrade(tx, upgrade, `cancelled by ${scope.actor.name}`),
  })
}

/**
 * Pauses an upgrade until it is resumed or cancelled; appliances in flight finish their step. One that waits at a gate
 * waits there again once it is resumed.
 * @throws AppError not_found
 */
export function pauseMxedgeUpgrade(ctx: Context, scope: PlaceScope, id: string): Promise<void> {
  const hold = {
    by: 'user',
    reason: `paused by ${scope.actor.name}`,
    since_s: epochS(ctx.clock.now()),
    since_ms: ctx.serviceClock.nowMs(),
  } as const
  return changeUpgrade(ctx, scope, {
    id,
    verb: 'Pause',
    concerns: ({ finishedAt, stopping, hold: present }) =>
      finishedAt === null && stopping === null && present?.by !== 'user',
    change: (tx, upgrade) => pauseUpgrade(tx, upgrade, over(hold, upgrade.hold)),
  })
}

/** Adds why, and since when, the upgrade waits already. */
function over(hold: UpgradeHold, present: UpgradeHold | null): UpgradeHold {
  if (present === null) return hold
  return { ...hold, reason: `${hold.reason} (before: ${present.reason})`, since_ms: present.since_ms }
}

/** Resumes an upgrade that a person or a gate has paused. @throws AppError not_found */
export function resumeMxedgeUpgrade(ctx: Context, scope: PlaceScope, id: string): Promise<void> {
  return changeUpgrade(ctx, scope, {
    id,
    verb: 'Resume',
    concerns: ({ finishedAt, hold }) => finishedAt === null && hold !== null,
    change: (tx, upgrade) => resumeUpgrade(tx, upgrade, ctx.serviceClock.nowMs()),
  })
}

interface Change {
  readonly id: string
  /** The beginning of the audit record. */
  readonly verb: string
  /** False: the upgrade is not changed. */
  readonly concerns: (upgrade: MxedgeUpgrade) => boolean
  readonly change: (tx: Tx, upgrade: MxedgeUpgrade) => Promise<void>
}

async function changeUpgrade(ctx: Context, scope: PlaceScope, { id, verb, concerns, change }: Change): Promise<void> {
  await inTx(ctx, async (tx) => {
    const upgrade = await lockUpgrade(tx, scope, id)
    if (!concerns(upgrade)) return
    await change(tx, upgrade)
    const { siteId } = upgrade
    await appendAudit(tx, scope, { message: `${verb} upgrade ${id} of edge appliances`, siteId, at: ctx.clock.now() })
    wakeAfterCommit(tx, 'mxedges')
  })
}
