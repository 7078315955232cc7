import { type PlaceScope, siteIdOf } from '../../access/scope.ts'
import {
  type MxedgeUpgradeChangeType,
  appendMxedgeUpgradeChange,
  endOfSearch,
} from '../../mxedges/upgrades/append-change.ts'
import { findHeldPhase } from '../../mxedges/upgrades/decide-wait.ts'
import {
  type MxedgeUpgrade,
  closeSearch,
  insertApproval,
  lockUpgrade,
  pauseUpgrade,
  resumeUpgrade,
  stopUpgrade,
} from '../../mxedges/upgrades/store-records.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { openingBy, pauseBy, pauseOver } from '../../rollout/gates/approvals.ts'
import { refuseUnapproved } from '../changes/refuse-approval.ts'

/**
 * Stops an upgrade. After the commit no appliance is commanded; those in flight finish their step. Of an upgrade
 * that has ended, nothing changes except that it searches for no further appliances.
 * @throws AppError not_found
 */
export function cancelMxedgeUpgrade(ctx: Context, scope: PlaceScope, id: string): Promise<void> {
  return changeUpgrade(ctx, scope, {
    id,
    type: ({ finishedAt }) => (finishedAt === null ? 'UPGRADE_CANCELLED' : 'UPGRADE_SEARCH_CANCELLED'),
    message: ({ finishedAt }) => (finishedAt === null ? messageOf('Cancel', id) : endOfSearch(id)),
    concerns: ({ finishedAt, stopping, includeDueMs }) =>
      stopping === null && (finishedAt === null || includeDueMs !== null),
    change: (tx, upgrade) =>
      upgrade.finishedAt === null
        ? stopUpgrade(tx, upgrade, `cancelled by ${scope.actor.name}`)
        : closeSearch(tx, upgrade),
  })
}

/**
 * Pauses an upgrade until it is resumed or cancelled; appliances in flight finish their step. One that waits at a gate
 * waits there again once it is resumed.
 * @throws AppError not_found
 */
export function pauseMxedgeUpgrade(ctx: Context, scope: PlaceScope, id: string): Promise<void> {
  const pause = pauseBy(scope.actor, { now: ctx.clock.now(), nowMs: ctx.serviceClock.nowMs() })
  return changeUpgrade(ctx, scope, {
    id,
    type: () => 'UPGRADE_PAUSED',
    message: () => messageOf('Pause', id),
    concerns: ({ finishedAt, stopping, hold }) => finishedAt === null && stopping === null && hold?.by !== 'user',
    change: (tx, upgrade) => pauseUpgrade(tx, upgrade, pauseOver(pause, upgrade.hold)),
  })
}

/**
 * Resumes an upgrade that a person or a gate has paused; at a gate that is the decision to open the next phase.
 * @throws AppError not_found; invalid for an upgrade that waits for an approval.
 */
export function resumeMxedgeUpgrade(ctx: Context, scope: PlaceScope, id: string): Promise<void> {
  return changeUpgrade(ctx, scope, {
    id,
    type: () => 'UPGRADE_RESUMED',
    message: () => messageOf('Resume', id),
    concerns: ({ finishedAt, hold }) => finishedAt === null && hold !== null,
    change: async (tx, upgrade) => {
      refuseUnapproved(upgrade.hold)
      const { hold } = upgrade
      const opening = openingBy(scope.actor, findHeldPhase(upgrade), { hold, at: ctx.clock.now() })
      if (opening !== null) await insertApproval(tx, upgrade, opening)
      await resumeUpgrade(tx, upgrade, ctx.serviceClock.nowMs())
    },
  })
}

function messageOf(verb: string, id: string): string {
  return `${verb} upgrade ${id} of edge appliances`
}

interface Change {
  readonly id: string
  /** Of the audit record, about the upgrade as it was. */
  readonly type: (upgrade: MxedgeUpgrade) => MxedgeUpgradeChangeType
  readonly message: (upgrade: MxedgeUpgrade) => string
  /** False: the upgrade is not changed. */
  readonly concerns: (upgrade: MxedgeUpgrade) => boolean
  readonly change: (tx: Tx, upgrade: MxedgeUpgrade) => Promise<void>
}

async function changeUpgrade(
  ctx: Context,
  scope: PlaceScope,
  { id, type, message, concerns, change }: Change,
): Promise<void> {
  await inTx(ctx, async (tx) => {
    const upgrade = await lockUpgrade(tx, scope, id)
    if (!concerns(upgrade)) return
    await change(tx, upgrade)
    const siteId = upgrade.siteId ?? siteIdOf(scope)
    const facts = { id, siteId, type: type(upgrade), message: message(upgrade) }
    await appendMxedgeUpgradeChange(tx, scope, { ...facts, at: ctx.clock.now() })
    wakeAfterCommit(tx, 'mxedges')
  })
}
